// A glob is compiled in three steps: braces are expanded into alternatives, each alternative is
// split into components, and each component becomes a NamePattern or "**". Matching simulates a
// nondeterministic automaton over the components, so that its time is linear in the path for any
// number of "**".

#include "model/glob.h"

#include <fnmatch.h>

#include <algorithm>
#include <span>

#include "base/format.h"
#include "base/path.h"

namespace patchbay {
namespace {

constexpr std::size_t kMaxAlternatives = 1000;
constexpr std::size_t kMaxExpanded = 256 << 10;  // bytes of all alternatives
constexpr std::size_t kMaxPattern = 4096;        // PATH_MAX; limits the nesting of braces

/// Returns the index of the brace that closes the one at `open`, or npos.
std::size_t ClosingBrace(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '{') {
      ++depth;
    } else if (text[i] == '}' && --depth == 0) {
      return i;
    }
  }
  return std::string_view::npos;
}

/// Splits `body` at the commas outside of nested braces.
std::vector<std::string_view> SplitAlternatives(std::string_view body) {
  std::vector<std::string_view> parts;
  std::size_t start = 0;
  int depth = 0;
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (body[i] == '\\') {
      ++i;
    } else if (body[i] == '{') {
      ++depth;
    } else if (body[i] == '}') {
      --depth;
    } else if (body[i] == ',' && depth == 0) {
      parts.push_back(body.substr(start, i - start));
      start = i + 1;
    }
  }
  parts.push_back(body.substr(start));
  return parts;
}

std::size_t FirstOutsideEscapes(std::string_view text, char wanted) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == wanted) {
      return i;
    }
  }
  return std::string_view::npos;
}

/// Appends the alternatives of `text` to `out`, which may have `left` bytes more. Returns false if
/// there are too many.
bool ExpandBraces(std::string_view text, std::size_t& left, std::vector<std::string>& out) {
  const std::size_t open = FirstOutsideEscapes(text, '{');
  if (open == std::string_view::npos) {
    if (out.size() == kMaxAlternatives || text.size() > left) return false;
    left -= text.size();
    out.emplace_back(text);
    return true;
  }
  const std::size_t close = ClosingBrace(text, open);
  for (const std::string_view part : SplitAlternatives(text.substr(open + 1, close - open - 1))) {
    const std::string expanded =
        std::string(text.substr(0, open)).append(part).append(text.substr(close + 1));
    if (!ExpandBraces(expanded, left, out)) return false;
  }
  return true;
}

/// Expands all braces.
Parsed<std::vector<std::string>> ExpandAll(std::string_view pattern) {
  if (pattern.size() > kMaxPattern) {
    return Malformed(kMaxPattern, Format("the pattern is longer than {} bytes", kMaxPattern));
  }
  for (std::size_t i = 0, depth = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\') {
      ++i;
    } else if (pattern[i] == '{') {
      if (ClosingBrace(pattern, i) == std::string_view::npos) {
        return Malformed(i, "\"{\" is not closed");
      }
      ++depth;
    } else if (pattern[i] == '}' && depth-- == 0) {
      return Malformed(i, "\"}\" is unmatched");
    }
  }
  std::vector<std::string> expanded;
  std::size_t left = kMaxExpanded;
  if (!ExpandBraces(pattern, left, expanded)) {
    return Malformed(0, Format("the braces expand to more than {} alternatives or {} bytes",
                               kMaxAlternatives, kMaxExpanded));
  }
  return expanded;
}

/// Parses one alternative of `pattern`. The offset of an error is that of the component in
/// `pattern`.
Parsed<Glob::Components> ParseComponents(const std::string& path, std::string_view pattern) {
  Glob::Components components;
  for (const std::string_view part : SplitPath(path)) {
    const auto found = pattern.find(part);
    const std::size_t offset = found == std::string_view::npos ? 0 : found;
    auto name = NamePattern::Compile(part);
    if (!name) return Malformed(offset + name.error().offset, name.error().message);
    if (name->literal() && (name->text() == "." || name->text() == "..")) {
      return Malformed(offset, Format("a path cannot contain \"{}\"", name->text()));
    }
    const bool any_depth = part == "**";
    // A repeated "**" does not change what matches.
    if (any_depth && !components.empty() && components.back().any_depth) continue;
    components.push_back({std::move(*name), any_depth});
  }
  if (components.empty()) return Malformed(0, "the pattern does not name a file");
  if (components.back().any_depth) components.push_back({*NamePattern::Compile("*"), false});
  return components;
}

/// Returns whether the components of a pattern match those of a path. `matched[i]` is whether the
/// first i components of the pattern match the path up to the current component.
bool MatchComponents(std::span<const Glob::Component> pattern, std::span<const std::string> path) {
  std::vector<bool> matched(pattern.size() + 1);
  matched[0] = true;
  const auto skip_any_depth = [&] {
    for (std::size_t i = 0; i < pattern.size(); ++i) {
      if (matched[i] && pattern[i].any_depth) matched[i + 1] = true;
    }
  };
  skip_any_depth();
  for (const std::string& part : path) {
    for (std::size_t i = pattern.size(); i > 0; --i) {
      // "**" matches the component and continues. It does not match hidden names.
      const bool stays = i < pattern.size() && pattern[i].any_depth && !part.starts_with('.');
      const Glob::Component& component = pattern[i - 1];
      const bool steps = matched[i - 1] && !component.any_depth && component.name.Matches(part);
      matched[i] = steps || (matched[i] && stays);
    }
    matched[0] = matched[0] && pattern[0].any_depth && !part.starts_with('.');
    skip_any_depth();
  }
  return matched.back();
}

std::string LiteralDirectory(const Glob::Components& components) {
  std::string directory = "/";
  for (std::size_t i = 0; i + 1 < components.size(); ++i) {
    if (components[i].any_depth || !components[i].name.literal()) break;
    directory.append(components[i].name.text()).push_back('/');
  }
  return directory;
}

std::string CommonDirectory(std::string_view a, std::string_view b) {
  const auto end = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  const std::string_view common(a.data(), static_cast<std::size_t>(end - a.begin()));
  return std::string(common.substr(0, common.rfind('/') + 1));
}

}  // namespace

Parsed<NamePattern> NamePattern::Compile(std::string_view pattern) {
  NamePattern compiled;
  std::string unescaped;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\') {
      if (++i == pattern.size()) return Malformed(i - 1, "a trailing backslash");
      unescaped.push_back(pattern[i]);
      continue;
    }
    if (c == '[') {
      // The first character can be "]", also after a negation.
      std::size_t first = i + 1;
      if (first < pattern.size() && (pattern[first] == '!' || pattern[first] == '^')) ++first;
      const auto close = pattern.find(']', first + 1);
      if (close == std::string_view::npos) return Malformed(i, "\"[\" is not closed");
      compiled.literal_ = false;
      i = close;
      continue;
    }
    if (c == '*' || c == '?') compiled.literal_ = false;
    unescaped.push_back(c);
  }
  compiled.text_ = compiled.literal_ ? unescaped : std::string(pattern);
  return compiled;
}

bool NamePattern::Matches(const std::string& name) const {
  if (literal_) return name == text_;
  return fnmatch(text_.c_str(), name.c_str(), FNM_PERIOD) == 0;
}

Parsed<std::vector<NamePattern>> CompileAlternatives(std::string_view pattern) {
  const auto expanded = ExpandAll(pattern);
  if (!expanded) return tl::unexpected(expanded.error());
  std::vector<NamePattern> alternatives;
  for (const std::string& alternative : *expanded) {
    auto one = NamePattern::Compile(alternative);
    if (!one) {
      // The offset is exact if the pattern has no braces.
      const std::size_t offset = alternative == pattern ? one.error().offset : 0;
      return Malformed(offset, std::move(one).error().message);
    }
    alternatives.push_back(*std::move(one));
  }
  return alternatives;
}

std::string EscapedForGlob(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (std::string_view("*?[]{}\\").find(c) != std::string_view::npos) escaped.push_back('\\');
    escaped.push_back(c);
  }
  return escaped;
}

bool MatchesAny(const std::vector<NamePattern>& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const NamePattern& pattern) { return pattern.Matches(name); });
}

Parsed<Glob> Glob::Compile(std::string_view pattern) {
  if (!pattern.starts_with('/')) return Malformed(0, "a path pattern must start with \"/\"");
  if (const auto nul = pattern.find('\0'); nul != std::string_view::npos) {
    return Malformed(nul, "a path cannot contain a NUL byte");
  }
  const auto expanded = ExpandAll(pattern);
  if (!expanded) return tl::unexpected(expanded.error());

  Glob glob;
  glob.text_ = pattern;
  for (const std::string& path : *expanded) {
    auto components = ParseComponents(path, pattern);
    if (!components) return tl::unexpected(std::move(components).error());
    const std::string directory = LiteralDirectory(*components);
    glob.fixed_directory_ =
        glob.alternatives_.empty() ? directory : CommonDirectory(glob.fixed_directory_, directory);
    glob.alternatives_.push_back(std::move(*components));
  }
  const auto depth = SplitPath(glob.fixed_directory_).size();
  glob.spans_directories_ =
      std::any_of(glob.alternatives_.begin(), glob.alternatives_.end(),
                  [&](const Components& components) { return components.size() != depth + 1; });
  return glob;
}

std::size_t Glob::memory() const {
  std::size_t bytes = 0;
  for (const Components& alternative : alternatives_) {
    bytes += sizeof(Components) + alternative.size() * sizeof(Component);
    for (const Component& component : alternative) bytes += component.name.text().size();
  }
  return bytes;
}

bool Glob::Matches(const Components& alternative, std::string_view path) {
  const auto views = SplitPath(path);
  return MatchComponents(alternative, std::vector<std::string>(views.begin(), views.end()));
}

bool Glob::Matches(std::string_view path) const {
  const auto views = SplitPath(path);
  const std::vector<std::string> parts(views.begin(), views.end());
  return std::any_of(alternatives_.begin(), alternatives_.end(),
                     [&](const Components& c) { return MatchComponents(c, parts); });
}

}  // namespace patchbay
