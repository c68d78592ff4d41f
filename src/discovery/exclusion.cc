#include "discovery/exclusion.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include "base/format.h"
#include "discovery/glob_walk.h"
#include "discovery/scan_context.h"

namespace patchbay {
namespace {

/// Returns whether a glob such as "/**/x" would scan the whole host. Such a glob is only matched
/// against paths.
bool IsTooWide(const Glob::Components& pattern) {
  return !pattern.front().literal() &&
         std::any_of(pattern.begin(), pattern.end(),
                     [](const Glob::Component& component) { return component.any_depth; });
}

/// Returns the text before the first character that is special in a glob or a regex.
std::string_view LiteralBeginning(std::string_view pattern) {
  return pattern.substr(0, pattern.find_first_of("\\*?[]{}.+()|^$"));
}

bool HasWildcard(const Glob& glob) {
  return std::ranges::any_of(glob.alternatives(), [](const Glob::Components& alternative) {
    return !std::ranges::all_of(alternative, &Glob::Component::literal);
  });
}

/// Returns a glob for each alternative if one of them is a name that can be misspelled; otherwise
/// the glob.
std::vector<Glob> GlobsIn(const Glob& glob) {
  const auto is_name = [](const Glob::Components& alternative) {
    return std::ranges::all_of(alternative, &Glob::Component::literal);
  };
  if (glob.alternatives().size() == 1 || std::ranges::none_of(glob.alternatives(), is_name)) {
    return {glob};
  }
  std::vector<Glob> globs;
  for (const Glob::Components& alternative : glob.alternatives()) {
    std::string text;
    for (const auto& [name, any_depth] : alternative) {
      text += "/" + (any_depth ? "**" : name.literal() ? EscapedForGlob(name.text()) : name.text());
    }
    globs.push_back(Glob::Compile(text).value());
  }
  return globs;
}

/// Returns whether the glob begins no more narrowly than one of the match, so that it is a filter
/// for what that finds.
bool BeginsLike(const MatchSpec& match, const Glob& glob) {
  const std::string_view beginning = LiteralBeginning(glob.text());
  const auto begins = [&](std::string_view found) {
    return LiteralBeginning(found).starts_with(beginning);
  };
  if (const auto* regex = std::get_if<RegexSource>(&match.source)) {
    return begins(regex->regex.text());
  }
  const auto* paths = std::get_if<PathSource>(&match.source);
  return paths != nullptr &&
         std::ranges::any_of(paths->globs, [&](const Glob& own) { return begins(own.text()); });
}

}  // namespace

Exclusion Exclusion::Of(const MatchSpec& match, ScanContext& scan) {
  Exclusion exclusion;
  scan.report().SetMuted(true);  // these directories are not searched for devices
  std::vector<Glob> globs;
  for (const Glob& glob : match.exclude)
    std::ranges::move(GlobsIn(glob), std::back_inserter(globs));
  for (const Glob& glob : globs) {
    const std::size_t index = exclusion.patterns_.size();
    const bool has_wildcard = HasWildcard(glob);
    Pattern& pattern = exclusion.patterns_.emplace_back(
        Pattern{glob, has_wildcard, has_wildcard && BeginsLike(match, glob)});
    bool is_undecided = false;
    const auto follow = [&](const std::string& path, const HostEntry* entry) {
      const auto node = scan.Follow(path, entry);
      is_undecided = is_undecided || (!node && node.error().kind != ErrorKind::kNotFound);
      if (!node) return;
      const bool by_link = node->path != path;
      if (pattern.NamesDevice(by_link)) exclusion.named_.push_back({*node, index});
      if (by_link) exclusion.links_.emplace(node->path, Link{path, index});
    };
    const std::size_t unreadable = scan.unreadable();
    for (const Glob::Components& alternative : glob.alternatives()) {
      if (!IsTooWide(alternative)) WalkGlob(alternative, scan, follow);
    }
    if (is_undecided || scan.unreadable() != unreadable) {
      exclusion.undecided_ = glob.text();
      pattern.is_used = true;
    }
  }
  scan.report().SetMuted(false);
  return exclusion;
}

Exclusion::Pattern* Exclusion::FirstMatch(const std::string& path, bool for_disk) {
  Pattern* first = nullptr;
  for (Pattern& pattern : patterns_) {
    if ((for_disk && pattern.only_filters) || !pattern.glob.Matches(path)) continue;
    pattern.is_used = true;
    if (first == nullptr) first = &pattern;
  }
  return first;
}

std::optional<std::string> Exclusion::OfName(const std::string& path) {
  const Pattern* pattern = FirstMatch(path);
  if (pattern == nullptr) return std::nullopt;
  return "it is excluded by " + pattern->glob.text();
}

std::optional<Excluded> Exclusion::OfNode(const std::string& path, const std::string& real_path,
                                          bool only_with_device) {
  std::optional<Excluded> excluded;
  const auto exclude = [&](Pattern& pattern, bool by_link, std::string why) {
    const bool with_device = pattern.NamesDevice(by_link);
    if (only_with_device && !with_device) return;
    pattern.is_used = true;
    if (excluded && (excluded->with_device || !with_device)) return;
    excluded = {std::move(why), with_device};
  };
  for (Pattern& pattern : patterns_) {
    const std::string& glob = pattern.glob.text();
    const bool is_real = pattern.glob.Matches(real_path);
    if (pattern.glob.Matches(path)) {
      exclude(pattern, !is_real, "it is excluded by " + glob);
    } else if (is_real) {
      exclude(pattern, false,
              Format("it is a link to {}, which is excluded by {}", real_path, glob));
    }
  }
  const auto [begin, end] = links_.equal_range(real_path);
  for (auto link = begin; link != end; ++link) {
    Pattern& pattern = patterns_[link->second.pattern];
    const std::string &name = link->second.path, &glob = pattern.glob.text();
    exclude(pattern, true,
            name == glob
                ? Format("it is excluded by {}, a link to the same node", glob)
                : Format("it is excluded by {}, as {} is a link to the same node", glob, name));
  }
  if (undecided_.empty() || (excluded && excluded->with_device)) return excluded;
  return Excluded{Format("{}, which may exclude it, cannot be looked up now", undecided_), true};
}

std::optional<std::string> Exclusion::OfPartition(const std::string& path,
                                                  std::span<const std::string> links) {
  const auto excluded_by = [](const Pattern& pattern, const std::string& link) {
    const std::string& glob = pattern.glob.text();
    return link.empty() || link == glob ? Format("excluded by {}", glob)
                                        : Format("excluded by {}, as {} leads to it", glob, link);
  };
  if (const Pattern* pattern = FirstMatch(path, true)) return excluded_by(*pattern, "");
  const auto [begin, end] = links_.equal_range(path);
  for (auto link = begin; link != end; ++link) {
    Pattern& pattern = patterns_[link->second.pattern];
    if (pattern.only_filters) continue;
    pattern.is_used = true;
    return excluded_by(pattern, link->second.path);
  }
  for (const std::string& link : links) {
    if (const Pattern* pattern = FirstMatch(link, true)) return excluded_by(*pattern, link);
  }
  return std::nullopt;
}

std::string Exclusion::MarkUsed(const Named& named) {
  Pattern& pattern = patterns_[named.pattern];
  pattern.is_used = true;
  return Format("{} is excluded by {}", named.node.path, pattern.glob.text());
}

std::vector<std::string> Exclusion::Unused() const {
  std::vector<std::string> unused;
  for (const Pattern& pattern : patterns_) {
    if (!pattern.is_used) unused.push_back(pattern.glob.text());
  }
  return unused;
}

}  // namespace patchbay
