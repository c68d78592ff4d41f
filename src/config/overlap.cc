// Each pattern of each match is a Claim, and each alternative of a glob (after
// brace expansion) an Alternative. A regex is represented by a glob that matches everything after
// its fixed beginning. Example paths of two overlapping globs are then tested against the regex.
//
// Only alternatives whose fixed beginnings, and whose fixed ends, are prefixes of each other can
// overlap. Order sorts by one of the two, so that few pairs remain, and Compare uses the end that
// leaves fewer. All steps are charged to `search_`, which bounds the work for the whole input.

#include "config/overlap.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <unordered_map>

#include "base/format.h"
#include "config/hardware_overlap.h"
#include "model/glob_overlap.h"

namespace patchbay {
namespace {

/// Maximum number of steps for the whole input. They take a few tenths of a second.
constexpr std::size_t kSteps = 20'000'000;

/// One pattern, or the hardware source, of one match.
struct Claim {
  std::size_t resource = 0;
  const MatchSpec* match = nullptr;
  const Glob* glob = nullptr;  ///< at most one of glob and regex is set
  const Regex* regex = nullptr;
  std::optional<Glob> around;  ///< for a regex, see GlobAround
  SourceLocation place;
};

/// Returns a text with which every match of the regex begins.
std::string FixedBegin(const Regex& regex) {
  const std::string& text = regex.text();
  const std::string& directory = regex.fixed_directory();
  if (text.find('|') != std::string::npos) return directory;
  const auto is = [&](std::size_t i, int (*kind)(int)) {
    return i < text.size() && kind(static_cast<unsigned char>(text[i])) != 0;
  };
  std::string begin;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && is(i + 1, std::ispunct)) {
      ++i;
    } else if (!is(i, std::isalnum) &&
               std::string_view("/_-:,@=").find(text[i]) == std::string::npos) {
      const bool may_lack_the_last = text[i] == '*' || text[i] == '?' || text[i] == '{';
      if (may_lack_the_last) begin.pop_back();
      break;
    }
    begin.push_back(text[i]);
  }
  return begin.size() > directory.size() ? begin : directory;
}

/// Returns a glob for all paths that the regex may match, to generate example paths.
std::optional<Glob> GlobAround(const Regex& regex) {
  std::string pattern;
  for (const char c : FixedBegin(regex)) {
    if (std::string_view("\\*?[]{},").find(c) != std::string_view::npos) pattern.push_back('\\');
    pattern.push_back(c);
  }
  auto glob = Glob::Compile(pattern + (regex.depth() == 0 ? "*" : "{*,*/**}"));
  return glob ? std::optional(std::move(*glob)) : std::nullopt;
}

std::vector<Claim> ClaimsOf(const DocumentDraft& document, const Model& model) {
  std::vector<Claim> claims;
  for (std::size_t r = 0; r < model.resources.size(); ++r) {
    for (std::size_t m = 0; m < model.resources[r].matches.size(); ++m) {
      const MatchSpec& match = model.resources[r].matches[m];
      const MatchDraft& draft = document.resources[r].matches[m];
      if (const auto* source = std::get_if<RegexSource>(&match.source)) {
        const Regex& regex = source->regex;
        claims.push_back({r, &match, nullptr, &regex, GlobAround(regex), draft.regex->place});
      } else if (const auto* path = std::get_if<PathSource>(&match.source)) {
        for (std::size_t i = 0; i < path->globs.size(); ++i) {
          const SourceLocation& place = draft.path->items[i].place;
          claims.push_back({r, &match, &path->globs[i], nullptr, std::nullopt, place});
        }
      }
    }
  }
  return claims;
}

/// Returns the matches whose source is `usb` or `pci`.
std::vector<Claim> HardwareClaimsOf(const DocumentDraft& document, const Model& model) {
  std::vector<Claim> claims;
  for (std::size_t r = 0; r < model.resources.size(); ++r) {
    for (std::size_t m = 0; m < model.resources[r].matches.size(); ++m) {
      const MatchSpec& match = model.resources[r].matches[m];
      const MatchDraft& draft = document.resources[r].matches[m];
      const bool is_usb = std::holds_alternative<UsbPattern>(match.source);
      if (!is_usb && !std::holds_alternative<PciPattern>(match.source)) continue;
      const SourceLocation& place = (is_usb ? draft.conditions.usb : draft.conditions.pci)->place;
      claims.push_back({r, &match, nullptr, nullptr, std::nullopt, place});
    }
  }
  return claims;
}

/// One alternative of the glob of a claim, or of the glob around its regex.
struct Alternative {
  const Claim* claim = nullptr;
  const Glob::Components* components = nullptr;
  FixedEnds ends;
};

std::vector<Alternative> AlternativesOf(const std::vector<Claim>& claims) {
  std::vector<Alternative> alternatives;
  for (const Claim& claim : claims) {
    const Glob* glob = claim.around ? &*claim.around : claim.glob;
    if (glob == nullptr) continue;
    for (const Glob::Components& components : glob->alternatives()) {
      alternatives.push_back({&claim, &components, FixedEndsOf(components)});
    }
  }
  return alternatives;
}

/// The alternatives sorted by their fixed beginning or end, the key. If two of them can overlap,
/// the key of one is a prefix of the key of the other, which therefore follows it.
class Order {
 public:
  Order(const std::vector<Alternative>& alternatives, std::string FixedEnds::*end) : end_(end) {
    for (const Alternative& a : alternatives) sorted_.push_back(&a);
    std::stable_sort(sorted_.begin(), sorted_.end(),
                     [&](const auto* a, const auto* b) { return Key(*a) < Key(*b); });
  }

  /// Calls `visit` with each alternative and all previous ones whose key is a prefix of its own
  /// key. Stops when `visit` returns false.
  template <class Visit>
  void Walk(Visit visit) const {
    std::vector<const Alternative*> open;
    for (const Alternative* next : sorted_) {
      while (!open.empty() && !Key(*next).starts_with(Key(*open.back()))) open.pop_back();
      if (!visit(*next, open)) return;
      open.push_back(next);
    }
  }

  std::size_t CountPairs() const {
    std::size_t count = 0;
    Walk([&](const Alternative&, const auto& open) {
      count += open.size();
      return true;
    });
    return count;
  }

 private:
  const std::string& Key(const Alternative& alternative) const { return alternative.ends.*end_; }

  std::string FixedEnds::*end_;
  std::vector<const Alternative*> sorted_;
};

/// Compares claims and reports at most one warning for each pair of resources.
class Comparison {
 public:
  Comparison(const Model& model, Reporter& reporter) : model_(model), reporter_(reporter) {}

  void CompareTexts(const std::vector<Claim>& claims) {
    std::unordered_map<std::string_view, const Claim*> by_text;
    for (const Claim& claim : claims) {
      if (claim.regex == nullptr) continue;
      const auto [first, is_new] = by_text.emplace(claim.regex->text(), &claim);
      if (is_new || !Concerns(*first->second, claim)) continue;
      const auto device = CommonConditions(*first->second->match, *claim.match);
      if (!device) continue;
      Report(*first->second, claim,
             claim.regex->text() + (device->empty() ? "" : " of " + *device));
    }
  }

  void CompareHardware(const std::vector<Claim>& claims) {
    for (auto second = claims.begin(); second != claims.end(); ++second) {
      for (auto first = claims.begin(); first != second; ++first) {
        if (!search_.Spend(1) || reported_.size() > Reporter::kMaxFindings) return;
        if (!Concerns(*first, *second) || !search_.Spend(100)) continue;
        const auto common = CommonHardware(*first->match, *second->match);
        if (common) Report(*first, *second, *common, "narrow one of them or make one exclusive");
      }
    }
  }

  void Compare(const std::vector<Alternative>& alternatives) {
    const Order by_begin(alternatives, &FixedEnds::begin);
    const Order by_end(alternatives, &FixedEnds::backward_end);
    const bool begins_differ = by_begin.CountPairs() <= by_end.CountPairs();
    (begins_differ ? by_begin : by_end).Walk([&](const Alternative& a, const auto& candidates) {
      for (const Alternative* b : candidates) {
        if (!search_.Spend(1) || reported_.size() > Reporter::kMaxFindings) return false;
        if (CanMeet(a.ends, b->ends) && Concerns(*a.claim, *b->claim)) Compare(*b, a);
      }
      return true;
    });
  }

 private:
  /// Returns whether a node that both find may be allocated twice.
  bool Concerns(const Claim& a, const Claim& b) const {
    const auto bound = [&](const Claim& c) {
      return !model_.resources[c.resource].on_nodes.empty();
    };
    const NodeType s = a.match->type, t = b.match->type;
    const auto exclusive = [&](const Claim& c) { return model_.resources[c.resource].exclusive; };
    // If exactly one of them is exclusive, that one gets the node.
    return a.resource != b.resource && !(bound(a) && bound(b)) && exclusive(a) == exclusive(b) &&
           (s == t || s == NodeType::kAny || t == NodeType::kAny) &&
           !reported_.contains(std::minmax(a.resource, b.resource));
  }

  void Compare(const Alternative& a, const Alternative& b) {
    const Claim *first = a.claim, *second = b.claim;
    if (first->regex != nullptr && second->regex != nullptr) return;
    const auto both_take = [&](const std::string& path) {
      return Takes(*first, path) && Takes(*second, path);
    };
    std::optional<std::string> path;
    if (a.ends.whole || b.ends.whole) {
      path = a.ends.whole ? a.ends.begin : b.ends.begin;
      if (!both_take(*path)) return;
    } else {
      path = search_.Find(*a.components, *b.components, both_take);
    }
    if (!path) return;
    const auto device = CommonConditions(*first->match, *second->match);
    if (!device) return;
    if (!device->empty()) *path += " of " + *device;
    // If only one of them has wildcards, the warning points at that pattern.
    const bool in_order = a.ends.whole == b.ends.whole ? first < second : a.ends.whole;
    if (!in_order) std::swap(first, second);
    Report(*first, *second, *path);
  }

  bool Takes(const Claim& claim, const std::string& path) {
    const std::vector<Glob>& exclude = claim.match->exclude;
    std::size_t patterns = claim.glob != nullptr ? claim.glob->alternatives().size() : 5;
    for (const Glob& glob : exclude) patterns += glob.alternatives().size();
    if (!search_.Spend(20 * patterns)) return false;
    Captures ignored;
    const bool found =
        claim.glob != nullptr ? claim.glob->Matches(path) : claim.regex->Match(path, ignored);
    return found && std::none_of(exclude.begin(), exclude.end(),
                                 [&](const Glob& glob) { return glob.Matches(path); });
  }

  void Report(const Claim& first, const Claim& second, std::string_view common,
              std::string_view fix = "exclude the overlap from one of them") {
    reported_.insert(std::minmax(first.resource, second.resource));
    reporter_.Report(
        Code::kSharedNode, second.place,
        Format("{} also belongs to the resource {}, through {}", common,
               model_.resources[first.resource].name, Where(first.place)),
        Format("it may be allocated twice: {}, or merge both into one resource with replicas",
               fix));
  }

  const Model& model_;
  Reporter& reporter_;
  OverlapSearch search_{kSteps};
  std::set<std::pair<std::size_t, std::size_t>> reported_;
};

}  // namespace

void WarnOfSharedNodes(const DocumentDraft& document, const Model& model, Reporter& reporter) {
  const std::vector<Claim> claims = ClaimsOf(document, model);
  Comparison comparison(model, reporter);
  comparison.CompareTexts(claims);
  comparison.Compare(AlternativesOf(claims));
  comparison.CompareHardware(HardwareClaimsOf(document, model));
}

}  // namespace patchbay
