#include "model/regex.h"

#include <re2/re2.h>

#include <algorithm>

#include "base/ascii.h"
#include "base/format.h"
#include "model/text_pattern.h"

namespace patchbay {
namespace {

/// Returns the longest directory that is a prefix of every string that the pattern matches. With
/// the memory that is enough for matching, RE2 does not find the beginning of a long pattern.
std::string FixedDirectory(std::string_view pattern) {
  constexpr int kMaxPrefix = 256;
  re2::RE2::Options options;
  options.set_log_errors(false);
  const re2::RE2 re(re2::StringPiece(pattern.data(), pattern.size()), options);
  std::string low, high;
  if (!re.PossibleMatchRange(&low, &high, kMaxPrefix)) return "/";
  const auto end = std::mismatch(low.begin(), low.end(), high.begin(), high.end()).first;
  const std::string common(low.begin(), end);
  // Empty if only one alternative begins with a slash: "/dev/a|b".
  return common.empty() ? "/" : common.substr(0, common.rfind('/') + 1);
}

/// Returns whether the bracket expression `body` (without its brackets) can match a slash.
bool ClassMatchesSlash(std::string_view body) {
  if (body.find("[:") != std::string_view::npos || body.find('\\') != std::string_view::npos) {
    return true;  // not analyzed; the only cost of a wrong result is a deeper search
  }
  const bool negated = body.starts_with('^');
  if (negated) body.remove_prefix(1);
  bool holds_slash = false;
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (i + 2 < body.size() && body[i + 1] == '-') {
      holds_slash = holds_slash || (body[i] <= '/' && '/' <= body[i + 2]);
      i += 2;
    } else {
      holds_slash = holds_slash || body[i] == '/';
    }
  }
  return holds_slash != negated;
}

/// Returns the maximum number of slashes in a match, estimated from the text of the pattern. Each
/// literal slash counts as one. Returns kAnyDepth if anything else can match a slash, or if a slash
/// can be repeated. RE2 does not expose its syntax tree; an estimate that is too high costs only a
/// deeper search.
int MostSlashes(std::string_view pattern) {
  int slashes = 0;
  bool repeated_group = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\') {
      constexpr std::string_view kNeverSlash = "dwbAzntrfv";
      const char next = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
      if (next == '/') ++slashes;
      if (IsAlnum(next) && kNeverSlash.find(next) == std::string_view::npos) {
        return Regex::kAnyDepth;
      }
      ++i;
    } else if (c == '[') {
      std::size_t first = i + 1;
      if (first < pattern.size() && pattern[first] == '^') ++first;
      const auto close = pattern.find(']', first + 1);
      if (close == std::string_view::npos) return Regex::kAnyDepth;
      if (ClassMatchesSlash(pattern.substr(i + 1, close - i - 1))) return Regex::kAnyDepth;
      i = close;
    } else if (c == '.') {
      return Regex::kAnyDepth;
    } else if (c == '/') {
      ++slashes;
      const char next = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
      if (next == '*' || next == '+' || next == '{') return Regex::kAnyDepth;
    } else if (c == ')' && i + 1 < pattern.size()) {
      const char next = pattern[i + 1];
      repeated_group = repeated_group || next == '*' || next == '+' || next == '{';
    }
  }
  return repeated_group ? Regex::kAnyDepth : slashes;
}

}  // namespace

Parsed<Regex> Regex::Compile(std::string_view pattern) {
  auto compiled = CompileRe2(pattern);
  if (!compiled) return tl::unexpected(std::move(compiled).error());
  const auto& re = *compiled;
  if (!pattern.starts_with('/')) {
    return Malformed(0, "the pattern matches the whole path and must start with \"/\"");
  }

  Regex regex;
  regex.text_ = pattern;
  for (const auto& [group, name] : re->CapturingGroupNames()) {
    regex.groups_.push_back(group);
    regex.names_.push_back(name);
  }
  regex.fixed_directory_ = FixedDirectory(pattern);
  const int fixed_slashes = static_cast<int>(
      std::count(regex.fixed_directory_.begin(), regex.fixed_directory_.end(), '/'));
  const int slashes = MostSlashes(pattern);
  regex.depth_ = slashes == kAnyDepth ? kAnyDepth : std::max(slashes - fixed_slashes, 0);
  regex.re_ = re;
  return regex;
}

bool Regex::Match(std::string_view path, Captures& captures) const {
  captures.clear();
  const re2::StringPiece text(path.data(), path.size());
  const int last_group = groups_.empty() ? -1 : groups_.back();
  std::vector<re2::StringPiece> submatches(static_cast<std::size_t>(last_group + 1));
  if (!re_->Match(text, 0, text.size(), re2::RE2::ANCHOR_BOTH, submatches.data(),
                  static_cast<int>(submatches.size()))) {
    return false;
  }
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const re2::StringPiece& value = submatches[static_cast<std::size_t>(groups_[i])];
    if (value.data() != nullptr)
      captures.emplace_back(names_[i], std::string(value.data(), value.size()));
  }
  return true;
}

std::size_t Regex::memory() const { return static_cast<std::size_t>(re_->options().max_mem()); }

}  // namespace patchbay
