// Both patterns are walked at the same time, first component by component (CommonPath), then byte
// by byte (CommonName). A state is a position in each pattern, and transitions lead only to later
// states, so that one pass over the states finds the shortest common path. Each transition records
// its origin, from which the path is read backward.

#include "model/glob_overlap.h"

#include <fnmatch.h>

#include <algorithm>
#include <limits>

namespace patchbay {
namespace {

constexpr std::size_t kMaxName = 255;  // NAME_MAX
constexpr std::size_t kMaxComponents = 100;
constexpr std::size_t kUnreached = std::numeric_limits<std::size_t>::max();

/// An element of a name pattern.
struct Piece {
  enum Kind { kByte, kAnyByte, kStar, kBracket };
  Kind kind = kByte;
  char byte = 0;
  std::string_view bracket;  ///< "[a-z]"
};

/// Returns the index of the "]" that closes the bracket at `open`. Returns npos if there is none;
/// the bracket is then a literal character.
std::size_t ClosingBracket(std::string_view text, std::size_t open) {
  std::size_t i = open + 1;
  if (i < text.size() && (text[i] == '!' || text[i] == '^')) ++i;
  for (const std::size_t first = i; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == ']' && i > first) {
      return i;
    } else if (text.substr(i, 2) == "[:") {
      const auto end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz", i + 2);
      if (end != std::string_view::npos && text.substr(end, 2) == ":]") i = end + 1;
    }
  }
  return std::string_view::npos;
}

std::vector<Piece> PiecesOf(const NamePattern& pattern) {
  const std::string_view text = pattern.text();
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (pattern.literal()) {
      pieces.push_back({Piece::kByte, text[i], {}});
    } else if (text[i] == '*') {
      const bool again = !pieces.empty() && pieces.back().kind == Piece::kStar;
      if (!again) pieces.push_back({Piece::kStar, 0, {}});
    } else if (text[i] == '?') {
      pieces.push_back({Piece::kAnyByte, 0, {}});
    } else if (const auto close = text[i] == '[' ? ClosingBracket(text, i) : std::string_view::npos;
               close != std::string_view::npos) {
      pieces.push_back({Piece::kBracket, 0, text.substr(i, close - i + 1)});
      i = close;
    } else {
      if (text[i] == '\\' && i + 1 < text.size()) ++i;
      pieces.push_back({Piece::kByte, text[i], {}});
    }
  }
  return pieces;
}

/// Appends the literal bytes at the start of `pieces`. Returns whether all pieces are literal.
template <class Pieces>
bool AppendFixed(const Pieces& pieces, std::string& out) {
  for (const Piece& piece : pieces) {
    if (piece.kind != Piece::kByte) return false;
    out.push_back(piece.byte);
  }
  return true;
}

/// Returns whether the two cannot match the same path because a literal name differs, or the
/// number of components.
bool DifferInNames(const Glob::Components& a, const Glob::Components& b) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i].any_depth || b[i].any_depth) return false;
    const NamePattern &x = a[i].name, &y = b[i].name;
    if (x.literal() && y.literal() && x.text() != y.text()) return true;
  }
  return a.size() != b.size();  // "**" is always followed by a name
}

/// Returns a byte of `bytes` for a readable path: a favorite, otherwise the first from "0" on.
unsigned char Choose(const std::bitset<256>& bytes, std::string_view favorites) {
  for (const char c : favorites) {
    if (bytes[static_cast<unsigned char>(c)]) return static_cast<unsigned char>(c);
  }
  std::size_t byte = '0';
  while (!bytes[byte]) byte = (byte + 1) % bytes.size();
  return static_cast<unsigned char>(byte);
}

bool BeginsAlike(std::string_view a, std::string_view b) {
  return a.starts_with(b) || b.starts_with(a);
}

}  // namespace

/// Matches one byte, or any number of bytes if it is a star.
struct OverlapSearch::Token {
  Bytes bytes;
  bool star = false;
  bool plain = false;  ///< a literal byte, which can be a leading dot
};

/// How to replace wildcards in a path.
struct OverlapSearch::Style {
  std::string_view favorites;  ///< preferred bytes
  int least;                   ///< the minimum number of bytes for a star
};

/// If two patterns have a common name, this style finds one.
constexpr OverlapSearch::Style OverlapSearch::kShortest = {"0aA", 0};

FixedEnds FixedEndsOf(const Glob::Components& components) {
  FixedEnds ends;
  ends.whole = true;
  for (const Glob::Component& component : components) {
    ends.begin.push_back('/');
    ends.whole = AppendFixed(PiecesOf(component.name), ends.begin);
    if (!ends.whole) break;
  }
  for (auto it = components.rbegin(); it != components.rend() && !it->any_depth; ++it) {
    std::vector<Piece> backward = PiecesOf(it->name);
    std::reverse(backward.begin(), backward.end());
    if (!AppendFixed(backward, ends.backward_end)) break;
    ends.backward_end.push_back('/');
  }
  return ends;
}

bool CanMeet(const FixedEnds& a, const FixedEnds& b) {
  return BeginsAlike(a.begin, b.begin) && BeginsAlike(a.backward_end, b.backward_end);
}

bool OverlapSearch::Spend(std::size_t steps) {
  steps_ -= std::min(steps, steps_);
  return steps_ > 0;
}

std::optional<std::string> OverlapSearch::FindName(const NamePattern& a, const NamePattern& b) {
  return CommonName(a, b, kShortest);
}

std::optional<std::string> OverlapSearch::Find(const Glob::Components& a, const Glob::Components& b,
                                               const Wanted& wanted) {
  if (a.size() > kMaxComponents || b.size() > kMaxComponents) return std::nullopt;
  if (!Spend(a.size() + b.size()) || DifferInNames(a, b)) return std::nullopt;
  // In the other styles a star is never empty.
  auto shortest = CommonPath(a, b, kShortest);
  if (!shortest) return std::nullopt;
  constexpr Style kNicer[] = {{"0aA", 1}, {"1bB", 1}, {"2cC", 1}, {"9zZ", 1},
                              {"a", 1},   {"1", 2},   {"a", 2}};
  for (const Style& style : kNicer) {
    auto path = CommonPath(a, b, style);
    if (path && wanted(*path)) return path;
  }
  return wanted(*shortest) ? shortest : std::nullopt;
}

/// A state is the number of components of each pattern that are matched. Finds the path with the
/// fewest components.
std::optional<std::string> OverlapSearch::CommonPath(const Glob::Components& a,
                                                     const Glob::Components& b,
                                                     const Style& style) {
  struct State {
    std::size_t depth = kUnreached;
    std::size_t from = 0;
    std::string name;  ///< of the last transition; empty if it only ended a "**"
  };
  const std::size_t row = b.size() + 1;
  std::vector<State> states((a.size() + 1) * row);
  if (!Spend(states.size())) return std::nullopt;
  const auto reach = [&](std::size_t from, std::size_t to, std::string name) {
    const std::size_t depth = states[from].depth + (name.empty() ? 0 : 1);
    if (depth < states[to].depth) states[to] = {depth, from, std::move(name)};
  };
  states.front().depth = 0;
  for (std::size_t now = 0; now < states.size(); ++now) {
    const std::size_t i = now / row, j = now % row;
    if (states[now].depth == kUnreached) continue;
    const bool a_stays = i < a.size() && a[i].any_depth;
    const bool b_stays = j < b.size() && b[j].any_depth;
    if (a_stays) reach(now, now + row, "");
    if (b_stays) reach(now, now + 1, "");
    if (i == a.size() || j == b.size() || (a_stays && b_stays)) continue;
    // As a name, "**" matches the same as "*": all names that are not hidden.
    if (auto name = CommonName(a[i].name, b[j].name, style)) {
      reach(now, (a_stays ? i : i + 1) * row + (b_stays ? j : j + 1), std::move(*name));
    }
  }
  if (states.back().depth == kUnreached) return std::nullopt;
  std::string path;
  for (std::size_t at = states.size() - 1; at != 0; at = states[at].from) {
    if (!states[at].name.empty()) path.insert(0, "/" + states[at].name);
  }
  return path;
}

std::optional<std::string> OverlapSearch::CommonName(const NamePattern& a, const NamePattern& b,
                                                     const Style& style) {
  if (!a.literal() && !b.literal()) {
    if (!Spend(a.text().size() + b.text().size())) return std::nullopt;
    return CommonName(TokensOf(a, style), TokensOf(b, style), style);
  }
  const std::string& name = a.literal() ? a.text() : b.text();
  if (name.size() > kMaxName) return std::nullopt;
  if (!Spend(10 + a.text().size() * b.text().size() / 16)) return std::nullopt;
  if (!a.Matches(name) || !b.Matches(name)) return std::nullopt;
  return name;
}

/// A state also contains the kind of the name so far, because a name cannot be empty, "." or "..",
/// and only a literal dot can be at its start.
std::optional<std::string> OverlapSearch::CommonName(const std::vector<Token>& a,
                                                     const std::vector<Token>& b,
                                                     const Style& style) {
  enum SoFar { kNothing, kDot, kTwoDots, kName, kStages };
  struct State {
    std::size_t length = kUnreached;
    std::size_t from = 0;
    char byte = 0;  ///< of the last transition; 0 if it only ended a star
  };
  const auto single = [](const Token& token) { return !token.star; };
  for (const auto* tokens : {&a, &b}) {
    if (std::count_if(tokens->begin(), tokens->end(), single) > static_cast<int>(kMaxName)) {
      return std::nullopt;
    }
  }
  const std::size_t row = b.size() + 1, stage = (a.size() + 1) * row;
  if (!Spend(kStages * stage)) return std::nullopt;
  std::vector<State> states(kStages * stage);
  const auto reach = [&](std::size_t from, std::size_t to, unsigned char byte) {
    const std::size_t length = states[from].length + (byte == 0 ? 0 : 1);
    if (length < states[to].length) states[to] = {length, from, static_cast<char>(byte)};
  };
  states.front().length = 0;
  for (std::size_t now = 0; now < states.size(); ++now) {
    if (states[now].length == kUnreached) continue;
    const std::size_t so_far = now / stage, i = now % stage / row, j = now % row;
    const bool a_stays = i < a.size() && a[i].star;
    const bool b_stays = j < b.size() && b[j].star;
    if (a_stays) reach(now, now + row, 0);
    if (b_stays) reach(now, now + 1, 0);
    if (i == a.size() || j == b.size()) continue;
    const std::size_t next = (a_stays ? i : i + 1) * row + (b_stays ? j : j + 1);
    Bytes bytes = a[i].bytes & b[j].bytes;
    if (so_far != kName && bytes['.']) {
      const bool leads = i == 0 && j == 0 && a[i].plain && b[j].plain;
      if (leads || so_far != kNothing) reach(now, (so_far + 1) * stage + next, '.');
      bytes.reset('.');
    }
    if (bytes.any()) reach(now, kName * stage + next, Choose(bytes, style.favorites));
  }
  if (states.back().length > kMaxName) return std::nullopt;
  std::string name;
  for (std::size_t at = states.size() - 1; at != 0; at = states[at].from) {
    if (states[at].byte != 0) name.push_back(states[at].byte);
  }
  std::reverse(name.begin(), name.end());
  return name;
}

std::vector<OverlapSearch::Token> OverlapSearch::TokensOf(const NamePattern& pattern,
                                                          const Style& style) {
  static const Bytes kAny = Bytes().set().reset('\0').reset('/');
  std::vector<Token> tokens;
  for (const Piece& piece : PiecesOf(pattern)) {
    switch (piece.kind) {
      case Piece::kByte:
        tokens.push_back({Bytes().set(static_cast<unsigned char>(piece.byte)), false, true});
        break;
      case Piece::kAnyByte: tokens.push_back({kAny, false, false}); break;
      case Piece::kBracket: tokens.push_back({MatchedBy(piece.bracket), false, false}); break;
      case Piece::kStar:
        for (int i = 0; i < style.least; ++i) tokens.push_back({kAny, false, false});
        tokens.push_back({kAny, true, false});
    }
  }
  return tokens;
}

const OverlapSearch::Bytes& OverlapSearch::MatchedBy(std::string_view bracket) {
  const auto [entry, is_new] = brackets_.try_emplace(std::string(bracket));
  if (is_new && Spend(bracket.size() * entry->second.size())) {
    for (std::size_t byte = 1; byte < entry->second.size(); ++byte) {
      const std::string name(1, static_cast<char>(byte));
      entry->second[byte] = byte != '/' && fnmatch(entry->first.c_str(), name.c_str(), 0) == 0;
    }
  }
  return entry->second;
}

}  // namespace patchbay
