// Texts are matched by the expressions that the real server has. Quantities are integers of
// thousandths, so that comparing and rounding them is exact. 17 digits with the largest suffix have
// 38 digits, which is what 128 bits can hold.

#include "sim/api_server/field_rules.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/ascii.h"
#include "base/format.h"
#include "model/text_pattern.h"

namespace patchbay::api_sim {
namespace {

struct RuleInfo {
  std::string_view what;
  std::size_t max_bytes;
  TextPattern pattern;
};

/// In the order of Rule.
std::vector<RuleInfo> MakeRows() {
  const std::string label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
  const std::string subdomain = Format(R"({0}(\.{0})*)", label);
  const std::string name = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?";
  const std::string number = "(0|[1-9][0-9]*)";
  const std::string pre_release = "(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)";
  const std::string build = "[0-9A-Za-z-]+";
  std::vector<RuleInfo> rows;
  const auto add = [&rows](std::string_view what, std::size_t max_bytes,
                           const std::string& pattern) {
    rows.push_back({what, max_bytes, TextPattern::Compile(pattern).value()});
  };
  add("a DNS label", 63, label);
  add("a DNS subdomain", 253, subdomain);
  add("a DNS subdomain", 63, "(?i)" + subdomain);
  add("DNS subdomains joined by slashes", 253, Format("{0}(/{0})*", subdomain));
  add("an identifier of C", 32, "[A-Za-z_][A-Za-z0-9_]*");
  add("a text", 64, "(?s).*");
  add("a version of semver.org 2.0.0", 64,
      Format(R"({0}\.{0}\.{0}(-{1}(\.{1})*)?(\+{2}(\.{2})*)?)", number, pre_release, build));
  add("a qualified name", 317, Format("({}/)?{}", subdomain, name));
  add("a label", 63, Format("({})?", name));
  add("a time", 40, R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[-+]\d\d:\d\d))");
  return rows;
}

const RuleInfo& RowOf(Rule rule) {
  static const std::vector<RuleInfo> kRows = MakeRows();
  return kRows[static_cast<std::size_t>(rule)];
}

struct Suffix {
  std::string_view text;
  Millis millis;  ///< of one unit; 0 for units below a thousandth
};

constexpr Millis kKibi = 1024;
constexpr Suffix kSuffixes[] = {
    {"n", 0},
    {"u", 0},
    {"m", 1},
    {"", 1'000},
    {"k", Millis{1'000} * 1'000},
    {"M", Millis{1'000} * 1'000'000},
    {"G", Millis{1'000} * 1'000'000'000},
    {"T", Millis{1'000} * 1'000'000'000'000},
    {"P", Millis{1'000} * 1'000'000'000'000'000},
    {"E", Millis{1'000} * 1'000'000'000'000'000'000},
    {"Ki", 1'000 * kKibi},
    {"Mi", 1'000 * kKibi* kKibi},
    {"Gi", 1'000 * kKibi* kKibi* kKibi},
    {"Ti", 1'000 * kKibi* kKibi* kKibi* kKibi},
    {"Pi", 1'000 * kKibi* kKibi* kKibi* kKibi* kKibi},
    {"Ei", 1'000 * kKibi* kKibi* kKibi* kKibi* kKibi* kKibi},
};

/// Removes the digits at the beginning of `text` and returns them.
std::string_view TakeDigits(std::string_view& text) {
  const auto* const end = std::find_if_not(text.begin(), text.end(), IsDigit);
  const std::string_view digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  return digits;
}

/// Returns the millis of a unit; nothing for an unknown suffix. "e3" and "E-3" are exponents.
std::optional<Millis> UnitOf(std::string_view suffix) {
  for (const Suffix& row : kSuffixes) {
    if (row.text == suffix) return row.millis;
  }
  if (suffix.size() < 2 || (suffix[0] != 'e' && suffix[0] != 'E')) return std::nullopt;
  suffix.remove_prefix(1);
  const bool is_negative = suffix[0] == '-';
  if (is_negative || suffix[0] == '+') suffix.remove_prefix(1);
  const std::string_view digits = TakeDigits(suffix);
  if (digits.empty() || digits.size() > 2 || !suffix.empty()) return std::nullopt;
  int exponent = 0;
  for (const char c : digits) exponent = exponent * 10 + (c - '0');
  if (exponent > 18) return std::nullopt;
  Millis unit = 1'000;
  for (int i = 0; i < exponent; ++i) unit = is_negative ? unit / 10 : unit * 10;
  return unit;
}

}  // namespace

bool Accepts(Rule rule, std::string_view text) { return RowOf(rule).pattern.Matches(text); }

std::size_t MaxBytes(Rule rule) { return RowOf(rule).max_bytes; }

std::string Description(Rule rule) {
  return Format("must be {}, which matches {}", RowOf(rule).what, RowOf(rule).pattern.text());
}

std::optional<Millis> ParseQuantity(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  const std::string_view whole = TakeDigits(text);
  std::string_view fraction;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    fraction = TakeDigits(text);
  }
  if (whole.size() + fraction.size() == 0 || whole.size() + fraction.size() > 17) {
    return std::nullopt;
  }
  const std::optional<Millis> unit = UnitOf(text);
  if (!unit) return std::nullopt;
  Millis number = 0, scale = 1;
  for (const char c : whole) number = number * 10 + (c - '0');
  for (const char c : fraction) {
    number = number * 10 + (c - '0');
    scale *= 10;
  }
  // Rounded away from zero; a value below a thousandth is one.
  const Millis value = *unit == 0 ? Millis{number > 0} : (number * *unit + scale - 1) / scale;
  return is_negative ? -value : value;
}

std::string QuantityText(Millis value) {
  const bool is_whole = value % 1'000 == 0;
  return Format("{}{}", static_cast<std::int64_t>(is_whole ? value / 1'000 : value),
                is_whole ? "" : "m");
}

}  // namespace patchbay::api_sim
