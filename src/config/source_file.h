#pragma once

#include <cstddef>
#include <string>

namespace patchbay {

/// A text of configuration and the name it has in diagnostics.
struct SourceFile {
  std::string name;
  std::string text;
};

inline constexpr std::size_t kLargestSource = std::size_t{1} << 20;  ///< bytes
inline constexpr std::size_t kLargestInput = std::size_t{16} << 20;  ///< bytes of all together

}  // namespace patchbay
