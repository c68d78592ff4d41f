#pragma once

#include <span>
#include <string_view>

namespace patchbay {

/// A file of src/http/page, embedded at build time.
struct PageFile {
  std::string_view name;  ///< "index.html"
  std::string_view bytes;
  std::string_view etag;  ///< with quotes
};

/// All files; cmake/embed.cmake generates the source.
std::span<const PageFile> PageFiles();

}  // namespace patchbay
