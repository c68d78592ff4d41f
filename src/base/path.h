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

/// Where a link in an absolute directory leads, judged by its text: "/dev/null" of "../null" in
/// "/dev/x". Empty for the root.
std::string FollowLink(std::string_view directory, std::string_view link);

/// The last part: "null" of "/dev/null".
std::string_view BaseName(std::string_view path);

/// The directory: "/dev" of "/dev/null", "/" of "/dev".
std::string DirectoryOf(std::string_view path);

}  // namespace patchbay
