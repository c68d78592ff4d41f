#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace patchbay {

/// The directory of all device nodes.
inline constexpr std::string_view kDev = "/dev/";

/// A pattern of Go's filepath.Match (pkg.go.dev/path/filepath#Match), converted for Patchbay.
struct GoPattern {
  std::string glob = {};                 ///< in the syntax of model/glob.h
  std::optional<std::string> path = {};  ///< the only match, if there is no wildcard
  std::string before = {}, after = {};   ///< the text around the only wildcard
  bool has_one_star = false;             ///< there is exactly one wildcard, and it is `*`
};

/// Converts a pattern of Go. `*` and `?` mean the same in both; in Go, braces are literal and `^`
/// negates a class. Trailing slashes are removed. A pattern that is invalid in Go remains invalid,
/// so that the loader reports it.
GoPattern FromGo(std::string_view pattern);

/// Returns a regular expression that matches only `text`.
std::string RegexOf(std::string_view text);

/// Returns `text` without leading and trailing white space.
std::string_view Trimmed(std::string_view text);

}  // namespace patchbay
