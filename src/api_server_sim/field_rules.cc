// The predicates read text from left to right, without regular expressions: the texts of the rules
// repeat the expressions of the real server, and a table of the tests compares both. Quantities are
// integers of thousandths, so that comparing and rounding them is exact. 17 digits with the largest
// suffix have 38 digits, which is what 128 bits can hold.

#include "api_server_sim/field_rules.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/ascii.h"
#include "base/format.h"

namespace patchbay::api_sim {
namespace {

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

bool IsLowerAlnum(char c) { return IsLower(c) || IsDigit(c); }

/// Returns whether `matches` holds for each part of `text` between separators.
template <class Matches>
bool EachPart(std::string_view text, char separator, Matches matches) {
  for (;;) {
    const std::size_t end = text.find(separator);
    if (!matches(text.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
}

/// A name of letters, digits, "-", "_" and ".", with a letter or digit at both ends.
bool IsLabelName(std::string_view text) {
  return !text.empty() && text.size() <= kMaxDnsLabel && IsAlnum(text.front()) &&
         IsAlnum(text.back()) && std::all_of(text.begin(), text.end(), [](char c) {
           return IsAlnum(c) || c == '-' || c == '_' || c == '.';
         });
}

bool IsDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsDigit);
}

bool IsVersionNumber(std::string_view text) {
  return IsDigits(text) && (text.size() == 1 || text.front() != '0');
}

bool IsBuildPart(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return IsAlnum(c) || c == '-'; });
}

bool IsPreReleasePart(std::string_view text) {
  return IsBuildPart(text) && (!IsDigits(text) || IsVersionNumber(text));
}

}  // namespace

constexpr std::string_view kDnsLabelRule =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must "
    "start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for "
    "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view kDnsSubdomainRule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', "
    "and must start and end with an alphanumeric character (e.g. 'example.com', regex used for "
    "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view kCIdentifierRule =
    "a valid C identifier must start with alphabetic character or '_', followed by a string of "
    "alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for "
    "validation is '[A-Za-z_][A-Za-z0-9_]*')";
constexpr std::string_view kLabelKeyRule =
    "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used "
    "for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain "
    "prefix and '/' (e.g. 'example.com/MyName')";
constexpr std::string_view kLabelValueRule =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
    "'12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

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

bool IsTime(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00";
  if (text.size() <= kForm.size() || text.size() > 40) return false;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    if (kForm[i] == '0' ? !IsDigit(text[i]) : text[i] != kForm[i]) return false;
  }
  text.remove_prefix(kForm.size());
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (TakeDigits(text).empty()) return false;
  }
  if (text == "Z") return true;
  return text.size() == 6 && (text[0] == '+' || text[0] == '-') && IsDigits(text.substr(1, 2)) &&
         text[3] == ':' && IsDigits(text.substr(4));
}

bool IsUuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
    const bool is_hex = IsDigit(text[i]) || (text[i] >= 'a' && text[i] <= 'f');
    if (is_dash ? text[i] != '-' : !is_hex) return false;
  }
  return true;
}

bool IsSemver(std::string_view text) {
  const std::size_t plus = text.find('+');
  if (plus != std::string_view::npos && !EachPart(text.substr(plus + 1), '.', IsBuildPart)) {
    return false;
  }
  text = text.substr(0, plus);
  const std::size_t dash = text.find('-');
  if (dash != std::string_view::npos && !EachPart(text.substr(dash + 1), '.', IsPreReleasePart)) {
    return false;
  }
  text = text.substr(0, dash);
  return std::count(text.begin(), text.end(), '.') == 2 && EachPart(text, '.', IsVersionNumber);
}

bool IsCIdentifier(std::string_view text) {
  return !text.empty() && !IsDigit(text.front()) &&
         std::all_of(text.begin(), text.end(), [](char c) { return IsAlnum(c) || c == '_'; });
}

bool IsDnsLabel(std::string_view text) {
  return !text.empty() && IsLowerAlnum(text.front()) && IsLowerAlnum(text.back()) &&
         std::all_of(text.begin(), text.end(), [](char c) { return IsLowerAlnum(c) || c == '-'; });
}

bool IsDnsSubdomain(std::string_view text) { return EachPart(text, '.', IsDnsLabel); }

bool IsLabelKey(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return IsLabelName(text);
  const std::string_view prefix = text.substr(0, slash);
  return prefix.size() <= kMaxDnsSubdomain && IsDnsSubdomain(prefix) &&
         IsLabelName(text.substr(slash + 1));
}

bool IsLabelValue(std::string_view text) { return text.empty() || IsLabelName(text); }

}  // namespace patchbay::api_sim
