// The expression is translated to a glob from left to right: a group or a class becomes braces,
// ".*" becomes a star. Glob expands the braces; each of its alternatives is a name, or the
// beginning of names if it has wildcards.

#include "convert/listed_names.h"

#include <algorithm>
#include <set>

#include "base/ascii.h"
#include "convert/patterns.h"
#include "model/glob.h"

namespace patchbay {
namespace {

/// Translates a valid expression.
class RegexTranslation {
 public:
  explicit RegexTranslation(std::string_view regex) : rest_(regex) {}

  bool has_numbers() const { return has_numbers_; }
  /// Returns whether the expression matches whole names only. An anchor in one alternative does not
  /// apply to the others.
  bool is_anchored() const { return is_anchored_ && ends_; }

  /// Returns the glob of the paths, or nothing if the expression has none.
  std::optional<std::string> Run() {
    is_anchored_ = rest_.starts_with('^');
    glob_ = "/dev/{";
    while (!rest_.empty()) {
      if (!Next()) return std::nullopt;
    }
    return glob_ + "}";
  }

 private:
  bool Takes(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  char Take() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  /// Returns whether this is the end of the expression, or of one of its alternatives.
  bool IsAtEnd() const { return rest_.empty() || (depth_ == 0 && rest_.starts_with('|')); }

  /// Translates the next part. Returns false if a glob has no equivalent.
  bool Next() {
    const char c = Take();
    switch (c) {
      case '^': return true;
      case '$': ends_ = IsAtEnd(); return true;
      case '|':
        if (depth_ == 0) is_anchored_ = is_anchored() && rest_.starts_with('^');
        ends_ = false;
        glob_ += ",";
        return true;
      case '(':
        ++depth_;
        glob_ += "{";
        return Takes("?:") || !rest_.starts_with('?');
      case ')':
        --depth_;
        glob_ += "}";
        return true;
      case '[': return Class();
      case '.':
        glob_ += Takes("*") ? "*" : Takes("+") ? "?*" : "?";
        ends_ = glob_.back() == '*' && IsAtEnd();
        return true;
      case '\\':
        if (Takes("d")) return Characters("0123456789");
        if (rest_.empty() || IsAlnum(rest_.front())) return false;
        glob_ += EscapedForBraces(Take());
        return true;
      case '*':
      case '+':
      case '?':
      case '{': return false;
      default: glob_ += EscapedForBraces(c); return true;
    }
  }

  bool Class() {
    std::set<char> characters;
    const std::string_view all = rest_.substr(0, rest_.find(']', 1));
    if (all.starts_with('^') || all.find("[:") != all.npos || all.find('\\') != all.npos ||
        std::ranges::any_of(all, [](unsigned char c) { return c > 0x7f; })) {
      return false;
    }
    rest_.remove_prefix(all.size() + 1);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool is_range = i + 2 < all.size() && all[i + 1] == '-';
      const char first = all[i];
      const char last = is_range ? all[i + 2] : first;
      for (char c = first; c < last; ++c) characters.insert(c);
      characters.insert(last);
      if (is_range) i += 2;
    }
    return Characters({characters.begin(), characters.end()});
  }

  /// Adds one of these characters. A number of any length becomes one digit: a name without a
  /// number is probably not a device.
  bool Characters(const std::string& characters) {
    if (std::ranges::all_of(characters, IsDigit) && (Takes("*") || Takes("+"))) {
      has_numbers_ = true;
    }
    std::string separator = "{";
    for (const char c : characters) {
      glob_ += separator + EscapedForBraces(c);
      separator = ",";
    }
    glob_ += "}";
    return true;
  }

  static std::string EscapedForBraces(char c) {
    return c == ',' ? "\\," : EscapedForGlob(std::string_view(&c, 1));
  }

  std::string_view rest_;
  std::string glob_;
  int depth_ = 0;             ///< of groups
  bool is_anchored_ = false;  ///< at the beginning, and at both ends of previous alternatives
  bool ends_ = false;         ///< the alternative is anchored at its end
  bool has_numbers_ = false;
};

/// Returns the name of an alternative of the glob; empty if it begins with a wildcard.
ListedName NameOf(const Glob::Components& alternative) {
  std::string glob;
  for (const Glob::Component& component : alternative) {
    const std::string& text = component.name.text();
    glob += "/" + (component.name.literal() ? EscapedForGlob(text) : text);
  }
  const GoPattern pattern = FromGo(glob);
  if (pattern.path) return {pattern.path->substr(kDev.size())};
  std::string beginning = pattern.before.substr(kDev.size());
  while (!beginning.empty() && !IsAlnum(beginning.back())) beginning.pop_back();
  return {beginning, glob};
}

}  // namespace

std::optional<ListedNames> ListNames(std::string_view regex) {
  RegexTranslation translation(regex);
  const auto text = translation.Run();
  const auto glob = text ? Glob::Compile(*text) : Malformed(0, "");
  if (!glob) return std::nullopt;
  ListedNames listed;
  listed.is_anchored = translation.is_anchored();
  listed.has_numbers = translation.has_numbers();
  for (const Glob::Components& alternative : glob->alternatives()) {
    if (alternative.size() == 1) continue;  // the empty name
    ListedName name = NameOf(alternative);
    // The wildcards of a glob match any number, not only those that are listed.
    if (name.name.empty() || (listed.has_numbers && !name.glob.empty())) return std::nullopt;
    listed.names.push_back(std::move(name));
  }
  std::ranges::sort(listed.names, {}, &ListedName::name);
  listed.names.erase(std::unique(listed.names.begin(), listed.names.end()), listed.names.end());
  if (listed.names.empty()) return std::nullopt;
  return listed;
}

}  // namespace patchbay
