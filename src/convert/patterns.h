#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace patchbay {

/// A path pattern of Go's path/filepath in the words of Patchbay.
struct GoPattern {
  std::string glob = {};                 ///< as model/glob.h has it
  std::optional<std::string> path = {};  ///< the one path it matches, where it has no wildcard
  std::string before = {}, after = {};   ///< what is around its only wildcard
  bool has_one_star = false;             ///< the only wildcard is one `*`
};

/// `*` and `?` are the same in both, braces are none in Go, and its classes are turned round by a
/// `^`. A pattern that Go would refuse comes back as it is, for our own rules to refuse.
GoPattern FromGo(std::string_view pattern);

/// A glob, or regular expression, that matches nothing but `text`.
std::string GlobOf(std::string_view text);
std::string RegexOf(std::string_view text);

/// Text without white space around it.
std::string_view Trimmed(std::string_view text);

}  // namespace patchbay
