#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace patchbay {

/// Functions on paths as text. They do not access the file system.

/// Returns the components of a path, without empty ones.
std::vector<std::string_view> SplitPath(std::string_view path);

/// Returns whether `path` is absolute and in its shortest form: no empty component, no "." or "..",
/// no trailing slash, no NUL. Returns false for "/".
bool IsShortestPath(std::string_view path);

/// Resolves the text of a link in an absolute directory, without access to the file system:
/// "../null" in "/dev/x" is "/dev/null". Returns "" for the root.
std::string FollowLink(std::string_view directory, std::string_view link);

/// Returns the last component: "null" for "/dev/null".
std::string_view BaseName(std::string_view path);

/// Returns the directory part: "/dev" for "/dev/null", "/" for "/dev".
std::string DirectoryOf(std::string_view path);

}  // namespace patchbay
