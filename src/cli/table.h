#pragma once

#include <string>
#include <vector>

namespace patchbay {

/// Rows of cells as text, in columns as wide as their widest cell. The first row is the heading.
/// Anything may be in a cell; it is made printable.
std::string RenderTable(const std::vector<std::vector<std::string>>& rows);

}  // namespace patchbay
