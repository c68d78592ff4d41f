// Each pattern of each match is a Claim, and so are each path without wildcards that its braces
// expand to, and a `usb` or `pci` that is the source of a match. Claims with the same text are
// found by a map. Paths are then matched against the patterns that have wildcards.

#include "config/overlap.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "base/format.h"
#include "config/path_checks.h"

namespace patchbay {
namespace {

/// Maximum number of comparisons for the whole input. They take a few tenths of a second.
constexpr std::size_t kMaxComparisons = 1'000'000;

struct Claim {
  std::size_t resource = 0;
  const MatchSpec* match = nullptr;
  SourceLocation place;
  std::string text;              ///< the path or pattern; "" for `usb` and `pci`
  const Glob* glob = nullptr;    ///< if it has wildcards
  const Regex* regex = nullptr;  ///< if it is one

  bool IsPath() const { return !text.empty() && glob == nullptr && regex == nullptr; }
};

std::size_t CountAlternatives(const std::vector<Glob>& globs) {
  std::size_t count = 0;
  for (const Glob& glob : globs) count += glob.alternatives().size();
  return count;
}

std::vector<Claim> ClaimsOf(const Section& document, const Model& model) {
  std::vector<Claim> claims;
  const std::span<const Section> resources = document.GetSections("resource");
  for (std::size_t r = 0; r < model.resources.size(); ++r) {
    for (std::size_t m = 0; m < model.resources[r].matches.size(); ++m) {
      const MatchSpec& match = model.resources[r].matches[m];
      const Section& section = resources[r].GetSections("match")[m];
      const SourceLocation& place = section.PlaceOf(section.alternative());
      if (const auto* source = std::get_if<RegexSource>(&match.source)) {
        claims.push_back({r, &match, place, source->regex.text(), nullptr, &source->regex});
      } else if (const auto* path = std::get_if<PathSource>(&match.source)) {
        const std::vector<Text> texts = section.GetTexts("path");
        for (std::size_t i = 0; i < path->globs.size(); ++i) {
          const Glob& glob = path->globs[i];
          bool has_wildcards = false;
          for (const Glob::Components& alternative : glob.alternatives()) {
            if (auto literal = LiteralPath(alternative)) {
              claims.push_back({r, &match, texts[i].place, *std::move(literal)});
            } else {
              has_wildcards = true;
            }
          }
          if (has_wildcards) claims.push_back({r, &match, texts[i].place, glob.text(), &glob});
        }
      } else if (std::holds_alternative<UsbPattern>(match.source) ||
                 std::holds_alternative<PciPattern>(match.source)) {
        claims.push_back({r, &match, place, ""});
      }
    }
  }
  return claims;
}

/// Compares claims and reports at most one warning for each pair of resources.
class Comparison {
 public:
  Comparison(const Model& model, Reporter& reporter) : model_(model), reporter_(reporter) {}

  void CompareTexts(const std::vector<Claim>& claims) {
    std::map<std::tuple<bool, bool, std::string_view>, std::vector<const Claim*>> by_text;
    for (const Claim& claim : claims) {
      auto& equal = by_text[{claim.glob != nullptr, claim.regex != nullptr, claim.text}];
      for (const Claim* other : equal) {
        if (!Spend(1)) return;
        const bool same_device = !claim.text.empty() || other->match->source == claim.match->source;
        if (same_device && CanShare(*other, claim) && TakesEach(*other, claim, claim.text)) {
          Report(*other, claim, claim.text);
        }
      }
      equal.push_back(&claim);
    }
  }

  void ComparePaths(const std::vector<Claim>& claims) {
    std::vector<const Claim*> patterns;
    for (const Claim& claim : claims) {
      if (claim.glob != nullptr || claim.regex != nullptr) patterns.push_back(&claim);
    }
    for (const Claim& claim : claims) {
      if (!claim.IsPath()) continue;
      for (const Claim* pattern : patterns) {
        if (!Spend(pattern->glob == nullptr ? 1 : pattern->glob->alternatives().size())) return;
        // The warning points at the pattern with wildcards.
        if (CanShare(claim, *pattern) && Finds(*pattern, claim.text) &&
            TakesEach(claim, *pattern, claim.text)) {
          Report(claim, *pattern, claim.text);
        }
      }
    }
  }

 private:
  /// Returns false if there were too many comparisons.
  bool Spend(std::size_t comparisons) {
    budget_ -= std::min(comparisons, budget_);
    return budget_ > 0 && reported_.size() <= Reporter::kMaxFindings;
  }

  /// Returns whether a node that the patterns of both find may be allocated twice.
  bool CanShare(const Claim& a, const Claim& b) const {
    const ResourceSpec &one = model_.resources[a.resource], &other = model_.resources[b.resource];
    const NodeType s = a.match->type, t = b.match->type;
    // If exactly one of them is exclusive, that one gets the node.
    return a.resource != b.resource && (one.on_nodes.empty() || other.on_nodes.empty()) &&
           one.exclusive == other.exclusive &&
           (s == t || s == NodeType::kAny || t == NodeType::kAny) &&
           HaveSameConditions(*a.match, *b.match) &&
           !reported_.contains(std::minmax(a.resource, b.resource));
  }

  /// Returns whether the conditions of the two are equal, or one of them has none.
  static bool HaveSameConditions(const MatchSpec& a, const MatchSpec& b) {
    const auto is_free = [](const MatchSpec& match) {
      return match.exclude.empty() && match.require.empty() && match.conditions.empty();
    };
    const bool are_equal =
        a.exclude == b.exclude && a.require == b.require && a.conditions == b.conditions;
    // The result of `not` depends on the devices of the host.
    return a.negated == b.negated && (are_equal || is_free(a) || is_free(b));
  }

  static bool Finds(const Claim& pattern, const std::string& path) {
    Captures ignored;
    return pattern.glob != nullptr ? pattern.glob->Matches(path)
                                   : pattern.regex->Match(path, ignored);
  }

  /// Returns whether neither of two claims that find `path` excludes it.
  bool TakesEach(const Claim& a, const Claim& b, const std::string& path) {
    return std::ranges::none_of(std::array{a.match, b.match}, [&](const MatchSpec* match) {
      return !Spend(CountAlternatives(match->exclude)) ||
             std::ranges::any_of(match->exclude,
                                 [&](const Glob& glob) { return glob.Matches(path); });
    });
  }

  void Report(const Claim& first, const Claim& second, std::string_view common) {
    reported_.insert(std::minmax(first.resource, second.resource));
    std::string_view fix = "exclude the overlap from one of them";
    if (common.empty()) {
      common = std::holds_alternative<UsbPattern>(second.match->source)
                   ? "each of these USB devices"
                   : "each of these PCI devices";
      fix = "narrow one of them or make one exclusive";
    }
    reporter_.Report(
        Code::kSharedNode, second.place,
        Format("{} also belongs to the resource {}, through {}", common,
               model_.resources[first.resource].name, Where(first.place)),
        Format("it may be allocated twice: {}, or merge both into one resource with replicas",
               fix));
  }

  const Model& model_;
  Reporter& reporter_;
  std::size_t budget_ = kMaxComparisons;
  std::set<std::pair<std::size_t, std::size_t>> reported_;
};

}  // namespace

void WarnOfSharedNodes(const Section& document, const Model& model, Reporter& reporter) {
  const std::vector<Claim> claims = ClaimsOf(document, model);
  Comparison comparison(model, reporter);
  comparison.CompareTexts(claims);
  comparison.ComparePaths(claims);
}

}  // namespace patchbay
