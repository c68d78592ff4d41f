// A recursive-descent parser that computes the list of matching names directly, without a syntax
// tree: the names of a sequence are the combinations of the names of its parts, and the names of
// alternatives are their union. After the first error, the parser jumps to the end of the
// expression, and the remaining results do not matter.
//
// The number of names and their length are bounded at every step, so that nested repetitions cannot
// grow exponentially. kMaxDepth bounds the recursion.

#include "convert/names.h"

#include <algorithm>
#include <bitset>
#include <charconv>
#include <optional>

#include "base/ascii.h"
#include "base/format.h"

namespace patchbay {
namespace {

using Names = std::vector<std::string>;
using ByteSet = std::bitset<256>;

constexpr int kMaxDepth = 20;
constexpr std::size_t kMaxRepeats = 16;
constexpr std::size_t kMaxName = 255;  // bytes, as NAME_MAX in <linux/limits.h>

/// Reads the expression from left to right. Each function returns the names that its part matches.
class Reader {
 public:
  explicit Reader(std::string_view regex) : regex_(regex) {}

  Parsed<NamesOfRegex> Run() && {
    out_.names = Alternatives(0);
    if (!problem_ && at_ < regex_.size()) Refuse("unmatched closing parenthesis");
    if (problem_) return Malformed(problem_->offset, std::move(problem_->message));
    std::sort(out_.names.begin(), out_.names.end());
    out_.names.erase(std::unique(out_.names.begin(), out_.names.end()), out_.names.end());
    std::erase(out_.names, "");
    if (out_.names.empty()) return Malformed(0, "it matches no name that can be listed");
    out_.is_anchored = begins_ && ends_;
    return std::move(out_);
  }

 private:
  /// The smallest unit that can be repeated.
  struct Atom {
    Names names;
    bool is_digit = false;  ///< one digit, any of several
    bool is_any = false;    ///< one character, too many to list
  };

  bool Sees(char c) const { return at_ < regex_.size() && regex_[at_] == c; }
  bool Takes(char c) {
    if (!Sees(c)) return false;
    ++at_;
    return true;
  }
  void Refuse(std::string message) {
    if (!problem_) problem_ = SyntaxError{at_, std::move(message)};
    at_ = regex_.size();
  }

  Names Bounded(Names names) {
    if (names.size() > kMaxNames) {
      Refuse(Format("it matches more than {} names", kMaxNames));
      names.clear();
    }
    return names;
  }

  Names Joined(const Names& heads, const Names& tails) {
    if (heads.size() * tails.size() > 10 * kMaxNames) {
      Refuse(Format("it matches more than {} names", kMaxNames));
      return {};
    }
    Names joined;
    for (const std::string& head : heads) {
      for (const std::string& tail : tails) {
        if (head.size() + tail.size() > kMaxName) {
          Refuse(Format("it matches names longer than {} bytes", kMaxName));
          return {};
        }
        joined.push_back(head + tail);
      }
    }
    return Bounded(std::move(joined));
  }

  Names Alternatives(int depth) {
    if (depth > kMaxDepth) {
      Refuse("its groups are nested too deeply");
      return {};
    }
    Names names = Sequence(depth);
    while (Takes('|')) {
      // An anchor in one alternative does not apply to the others.
      if (depth == 0) begins_ = ends_ = false;
      Names more = Sequence(depth);
      if (depth == 0) begins_ = ends_ = false;
      names.insert(names.end(), more.begin(), more.end());
    }
    return Bounded(std::move(names));
  }

  Names Sequence(int depth) {
    Names names = {""};
    bool is_first = true;
    while (at_ < regex_.size() && !Sees('|') && !Sees(')')) {
      if (Sees('^') && is_first) {
        ++at_;
        begins_ = begins_ || depth == 0;
        continue;
      }
      is_first = false;
      if (Sees('$') &&
          (at_ + 1 == regex_.size() || regex_[at_ + 1] == '|' || regex_[at_ + 1] == ')')) {
        ++at_;
        ends_ = ends_ || depth == 0;
        continue;
      }
      names = Joined(names, Repeated(AtomAt(depth)));
    }
    return names;
  }

  Atom AtomAt(int depth) {
    if (Takes('(')) return Group(depth);
    if (Takes('[')) return Class();
    if (Takes('.')) return {{}, false, true};
    if (Takes('\\')) return Escape();
    const char c = regex_[at_];
    if (std::string_view("*+?{^$").find(c) != std::string_view::npos) {
      Refuse(Format("\"{}\" is not supported here", c));
      return {};
    }
    ++at_;
    return {{std::string(1, c)}};
  }

  Atom Group(int depth) {
    if (Takes('?') && !Takes(':')) {
      Refuse("flags and named groups are not supported");
      return {};
    }
    Atom atom{Alternatives(depth + 1)};
    if (!Takes(')')) Refuse("a group is not closed");
    return atom;
  }

  static Atom Of(const ByteSet& set) {
    Atom atom;
    for (std::size_t c = 0; c < set.size(); ++c) {
      if (set[c]) atom.names.emplace_back(1, static_cast<char>(c));
    }
    atom.is_digit = set.count() > 1 && std::all_of(atom.names.begin(), atom.names.end(),
                                                   [](const auto& n) { return IsDigit(n[0]); });
    atom.is_any = set.count() > 40;
    return atom;
  }

  static void AddRange(ByteSet& set, char first, char last) {
    for (int c = static_cast<unsigned char>(first); c <= static_cast<unsigned char>(last); ++c) {
      set.set(static_cast<std::size_t>(c));
    }
  }

  static bool AddClassOf(char escape, ByteSet& set) {
    if (escape != 'd' && escape != 'w') return false;
    AddRange(set, '0', '9');
    if (escape == 'd') return true;
    AddRange(set, 'a', 'z');
    AddRange(set, 'A', 'Z');
    set.set('_');
    return true;
  }

  Atom Escape() {
    if (at_ == regex_.size()) {
      Refuse("trailing backslash");
      return {};
    }
    const char c = regex_[at_++];
    ByteSet set;
    if (AddClassOf(c, set)) return Of(set);
    if (IsAlnum(c)) {
      Refuse(Format("\"\\{}\" is not supported", c));
      return {};
    }
    return {{std::string(1, c)}};
  }

  Atom Class() {
    ByteSet set;
    const bool is_negated = Takes('^');
    bool is_first = true;
    while (at_ < regex_.size() && (is_first || !Sees(']'))) {
      is_first = false;
      char c = regex_[at_++];
      if (c == '[' && Sees(':')) {
        Refuse("named character classes are not supported");
        return {};
      }
      if (c == '\\' && at_ < regex_.size()) {
        c = regex_[at_++];
        if (AddClassOf(c, set)) continue;
      }
      char last = c;
      if (Sees('-') && at_ + 1 < regex_.size() && regex_[at_ + 1] != ']') {
        last = regex_[at_ + 1];
        at_ += 2;
      }
      AddRange(set, c, last);
    }
    if (!Takes(']')) Refuse("a character class is not closed");
    if (is_negated) return {{}, false, true};
    return Of(set);
  }

  /// Reads the repetition of an atom, if any, and returns the names of the repeated atom.
  Names Repeated(const Atom& atom) {
    std::size_t min = 1, max = 1;
    bool is_endless = false;
    if (Takes('*')) {
      min = 0, is_endless = true;
    } else if (Takes('+')) {
      is_endless = true;
    } else if (Takes('?')) {
      min = 0;
    } else if (Sees('{')) {
      Braces(min, max, is_endless);
    }
    if (is_endless || min != max) Takes('?');  // lazy: matches the same names
    if (is_endless && atom.is_digit) {
      out_.has_numbers = true;
      // A name without a number is probably not a device.
      min = std::max<std::size_t>(min, 1);
      max = min;
    } else if (is_endless) {
      out_.is_open = true;
      max = min;
    }
    if (atom.is_any && max > 0) {
      if (min > 0) {
        Refuse("it matches too many characters here");
        return {};
      }
      out_.is_open = true;
      max = 0;
    }
    Names names, times = {""};
    for (std::size_t n = 0; n <= max && !problem_; ++n) {
      if (n >= min) names.insert(names.end(), times.begin(), times.end());
      if (n < max) times = Joined(times, atom.names);
    }
    return Bounded(std::move(names));
  }

  void Braces(std::size_t& min, std::size_t& max, bool& is_endless) {
    const auto end = regex_.find('}', at_);
    const std::string_view inside =
        regex_.substr(at_ + 1, end == std::string_view::npos ? 0 : end - at_ - 1);
    const char* const stop = inside.data() + inside.size();
    auto [next, error] = std::from_chars(inside.data(), stop, min);
    max = min;
    if (error == std::errc() && next != stop && *next == ',') {
      is_endless = ++next == stop;
      if (!is_endless) {
        const auto upper = std::from_chars(next, stop, max);
        next = upper.ptr;
        error = upper.ec;
      }
    }
    if (error != std::errc() || next != stop || min > max || max > kMaxRepeats) {
      Refuse(Format("a repetition must be {{n}}, {{n,}} or {{n,m}} with at most {}", kMaxRepeats));
      min = max = 0;
      return;
    }
    at_ = end + 1;
  }

  std::string_view regex_;
  std::size_t at_ = 0;
  NamesOfRegex out_;
  bool begins_ = false, ends_ = false;
  std::optional<SyntaxError> problem_;
};

}  // namespace

Parsed<NamesOfRegex> ListNamesOf(std::string_view regex) { return Reader(regex).Run(); }

}  // namespace patchbay
