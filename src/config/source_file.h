#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace patchbay {

/// A text of configuration and the name it has in diagnostics.
struct SourceFile {
  std::string name;
  std::string text;
};

/// Where the configuration is when nobody names another place.
inline constexpr std::string_view kDefaultConfig = "/etc/patchbay";

inline constexpr std::size_t kLargestSource = std::size_t{1} << 20;  ///< bytes
inline constexpr std::size_t kLargestInput = std::size_t{16} << 20;  ///< bytes of all together

}  // namespace patchbay
