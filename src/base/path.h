#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace patchbay {

/// Paths as text; nobody looks at a file system here.

/// The components, without empty ones.
std::vector<std::string_view> SplitPath(std::string_view path);

/// Whether an absolute path is as short as it can be: no empty component, no "." or "..", no slash
/// at its end, no NUL.
bool IsShortestPath(std::string_view path);

/// The last part: "null" of "/dev/null".
std::string_view BaseName(std::string_view path);

/// The directory: "/dev" of "/dev/null", "/" of "/dev".
std::string DirectoryOf(std::string_view path);

}  // namespace patchbay
