#pragma once

#include <string_view>

namespace patchbay {

/// Returns the program patchbay-net, which is built into this one.
std::string_view NetProgram();

}  // namespace patchbay
