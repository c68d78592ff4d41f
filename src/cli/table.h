#pragma once

#include <string>
#include <vector>

namespace patchbay {

/// Formats rows of cells as a table whose columns are as wide as their widest cell. The first row
/// is the heading. Escapes the text of each cell. With `colored`, the heading is bold, and results
/// such as Healthy have colors.
std::string RenderTable(const std::vector<std::vector<std::string>>& rows, bool colored);

}  // namespace patchbay
