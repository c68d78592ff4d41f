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

/// The text that every path matched by an alternative begins and ends with.
struct FixedEnds {
  std::string begin;
  std::string backward_end;  ///< the last character first
  bool whole = false;        ///< there are no wildcards: `begin` is the one path
};

FixedEnds FixedEndsOf(const Glob::Components& components);

/// Whether paths with these ends can be the same; mostly they cannot, which saves a search.
bool CanMeet(const FixedEnds& a, const FixedEnds& b);

/// Looks for paths that two alternatives of globs match both. One search serves many pairs and
/// spends one supply of steps, of a few nanoseconds each; when that is used up, nothing is found
/// any more. Exact for all that globs know and for paths that can exist: names of up to 255 bytes,
/// none of them "." or "..", in up to 100 directories. Belongs to one thread.
class OverlapSearch {
 public:
  using Wanted = std::function<bool(const std::string& path)>;

  explicit OverlapSearch(std::size_t steps) : steps_(steps) {}

  /// The first path in common that is wanted, made of "0" and "a" where the globs leave the choice:
  /// "/dev/ttyUSB0" of "/dev/tty*" and "/dev/*USB?". Of very many, about ten are tried, which
  /// differ in what stands for the wildcards. `wanted` must ask both globs: for a bracket that
  /// fnmatch(3) reads in an odd way the path can be wrong.
  std::optional<std::string> Find(const Glob::Components& a, const Glob::Components& b,
                                  const Wanted& wanted);

  /// Takes `steps` from the supply; false when it is used up.
  bool Spend(std::size_t steps);
  bool exhausted() const { return steps_ == 0; }

 private:
  using Bytes = std::bitset<256>;
  struct Token;
  struct Style;

  std::optional<std::string> CommonPath(const Glob::Components& a, const Glob::Components& b,
                                        const Style& style);
  std::optional<std::string> CommonName(const NamePattern& a, const NamePattern& b,
                                        const Style& style);
  std::optional<std::string> CommonName(const std::vector<Token>& a, const std::vector<Token>& b,
                                        const Style& style);
  std::vector<Token> TokensOf(const NamePattern& pattern, const Style& style);
  const Bytes& MatchedBy(std::string_view bracket);

  std::size_t steps_;
  std::unordered_map<std::string, Bytes> brackets_;  ///< what each one matches; slow to find out
};

}  // namespace patchbay
