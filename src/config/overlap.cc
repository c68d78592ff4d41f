#include "config/overlap.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/format.h"
#include "config/match.h"

namespace patchbay {
namespace {

/// One pattern of one match.
struct Claim {
  std::size_t resource = 0;
  const MatchSpec* match = nullptr;
  const Glob* glob = nullptr;  ///< or
  const Regex* regex = nullptr;
  std::optional<std::string> only_path;  ///< of a glob without wildcards
  Place place;

  const std::string& text() const { return glob != nullptr ? glob->text() : regex->text(); }
};

std::vector<Claim> ClaimsOf(const DocumentDraft& document, const Model& model) {
  std::vector<Claim> claims;
  for (std::size_t r = 0; r < model.resources.size(); ++r) {
    for (std::size_t m = 0; m < model.resources[r].matches.size(); ++m) {
      const MatchSpec& match = model.resources[r].matches[m];
      const MatchDraft& draft = document.resources[r].matches[m];
      if (const auto* regex = std::get_if<RegexSource>(&match.source)) {
        claims.push_back({r, &match, nullptr, &regex->regex, std::nullopt, draft.regex->place});
      } else if (const auto* path = std::get_if<PathSource>(&match.source)) {
        for (std::size_t i = 0; i < path->globs.size(); ++i) {
          const Glob& glob = path->globs[i];
          claims.push_back({r, &match, &glob, nullptr, OnlyPath(glob), draft.path->items[i].place});
        }
      }
    }
  }
  return claims;
}

bool Takes(const Claim& claim, const std::string& path) {
  const std::string& below =
      claim.glob ? claim.glob->fixed_directory() : claim.regex->fixed_directory();
  if (!path.starts_with(below)) return false;
  Captures ignored;
  const bool matches = claim.glob ? claim.glob->Matches(path) : claim.regex->Match(path, ignored);
  return matches && std::none_of(claim.match->exclude.begin(), claim.match->exclude.end(),
                                 [&](const Glob& glob) { return glob.Matches(path); });
}

/// Writes one warning for two resources, whatever they have in common.
class PairReporter {
 public:
  PairReporter(const Model& model, Reporter& reporter) : model_(model), reporter_(reporter) {}

  void Report(const Claim& first, const Claim& second) {
    if (!Conflict(first, second)) return;
    if (!reported_.insert(std::minmax(first.resource, second.resource)).second) return;
    const std::string& path = first.only_path ? *first.only_path : second.text();
    reporter_.Report(
        Code::kSharedNode, second.place,
        format("{} also belongs to the resource {}, by {}", path,
               model_.resources[first.resource].name, Where(first.place)),
        "the kubelet may give it out twice: exclude it from one of the two, or share it "
        "with replicas");
  }

 private:
  bool Conflict(const Claim& a, const Claim& b) const {
    const auto bound = [&](const Claim& c) {
      return !model_.resources[c.resource].on_nodes.empty();
    };
    const NodeType s = a.match->type, t = b.match->type;
    return a.resource != b.resource && !(bound(a) && bound(b)) &&
           (s == t || s == NodeType::kAny || t == NodeType::kAny);
  }

  const Model& model_;
  Reporter& reporter_;
  std::set<std::pair<std::size_t, std::size_t>> reported_;
};

}  // namespace

void WarnOfSharedNodes(const DocumentDraft& document, const Model& model, Reporter& reporter) {
  const std::vector<Claim> claims = ClaimsOf(document, model);
  PairReporter pairs(model, reporter);
  std::unordered_map<std::string_view, const Claim*> by_text;
  for (const Claim& claim : claims) {
    const auto [first, is_new] = by_text.emplace(claim.text(), &claim);
    if (!is_new) pairs.Report(*first->second, claim);
  }
  for (const Claim& plain : claims) {
    if (!plain.only_path || !Takes(plain, *plain.only_path)) continue;
    for (const Claim& pattern : claims) {
      if (!pattern.only_path && Takes(pattern, *plain.only_path)) pairs.Report(plain, pattern);
    }
  }
}

}  // namespace patchbay
