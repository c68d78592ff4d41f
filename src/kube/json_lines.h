#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace patchbay {

/// Splits a stream of bytes into lines, as the events of a watch are sent: one JSON object per
/// line. Keeps at most `max_line` bytes of an unfinished line. Pure.
class JsonLines {
 public:
  explicit JsonLines(std::size_t max_line) : max_line_(max_line) {}

  /// Appends bytes and returns the lines that are complete now, without line ends and without empty
  /// lines. Fails with kInvalid if a line is longer than `max_line`; the stream is not usable then.
  Result<std::vector<std::string>> Feed(std::string_view bytes);

 private:
  std::size_t max_line_;
  std::string partial_;
};

}  // namespace patchbay
