#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace patchbay {

/// A configuration text and its name in diagnostics.
struct SourceFile {
  std::string name;
  std::string text;
};

/// The default path of the configuration.
inline constexpr std::string_view kDefaultConfig = "/etc/patchbay";

inline constexpr std::size_t kLargestSource = std::size_t{1} << 20;  ///< bytes
inline constexpr std::size_t kLargestInput = std::size_t{16} << 20;  ///< bytes, all files together

}  // namespace patchbay
