#include "sim/api_server/field_rules.h"

#include <vector>

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

}  // namespace

bool Accepts(Rule rule, std::string_view text) { return RowOf(rule).pattern.Matches(text); }

std::size_t MaxBytes(Rule rule) { return RowOf(rule).max_bytes; }

std::string Description(Rule rule) {
  return Format("must be {}, which matches {}", RowOf(rule).what, RowOf(rule).pattern.text());
}

}  // namespace patchbay::api_sim
