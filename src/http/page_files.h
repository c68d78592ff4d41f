#pragma once

#include <span>
#include <string_view>

namespace patchbay {

/// A file of src/http/page, as it was when the program was built.
struct PageFile {
  std::string_view name;  ///< "index.html"
  std::string_view bytes;
  std::string_view etag;  ///< with quotes
};

/// All of them. The source is made by cmake/embed.cmake.
std::span<const PageFile> PageFiles();

}  // namespace patchbay
