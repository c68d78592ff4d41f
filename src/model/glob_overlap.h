#pragma once

#include <bitset>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/glob.h"

namespace patchbay {

/// The literal text at the beginning and at the end of every path that an alternative matches.
struct FixedEnds {
  std::string begin;
  std::string backward_end;  ///< reversed
  bool whole = false;        ///< there are no wildcards: `begin` is the whole path
};

/// Returns the fixed ends of an alternative.
FixedEnds FixedEndsOf(const Glob::Components& components);

/// Returns false if no path can have both ends, which avoids most searches.
bool CanMeet(const FixedEnds& a, const FixedEnds& b);

/// Searches for paths that two alternatives of globs both match. One search is used for many pairs,
/// and has a limited number of steps of a few nanoseconds each; when they are used up, it finds
/// nothing more. The result is exact for paths that can exist: names of up to 255 bytes other than
/// "." and "..", in up to 100 directories. Not thread-safe.
class OverlapSearch {
 public:
  using Wanted = std::function<bool(const std::string& path)>;

  explicit OverlapSearch(std::size_t steps) : steps_(steps) {}

  /// Returns a path that both alternatives match and that `wanted` accepts, such as "/dev/ttyUSB0"
  /// for "/dev/tty*" and "/dev/*USB?". Tries about ten paths with different text for the wildcards.
  /// `wanted` must match the path against both globs: the path can be wrong if fnmatch(3)
  /// interprets a bracket expression differently.
  std::optional<std::string> Find(const Glob::Components& a, const Glob::Components& b,
                                  const Wanted& wanted);
  /// Returns a name that both patterns match, such as "rack-1" for "rack-*" and "*-1".
  std::optional<std::string> FindName(const NamePattern& a, const NamePattern& b);

  /// Uses `steps` of the remaining steps. Returns false if none remain.
  bool Spend(std::size_t steps);
  bool exhausted() const { return steps_ == 0; }

 private:
  using Bytes = std::bitset<256>;
  struct Token;
  struct Style;
  static const Style kShortest;

  std::optional<std::string> CommonPath(const Glob::Components& a, const Glob::Components& b,
                                        const Style& style);
  std::optional<std::string> CommonName(const NamePattern& a, const NamePattern& b,
                                        const Style& style);
  std::optional<std::string> CommonName(const std::vector<Token>& a, const std::vector<Token>& b,
                                        const Style& style);
  std::vector<Token> TokensOf(const NamePattern& pattern, const Style& style);
  const Bytes& MatchedBy(std::string_view bracket);

  std::size_t steps_;
  std::unordered_map<std::string, Bytes> brackets_;  ///< a cache, because MatchedBy is slow
};

}  // namespace patchbay
