#pragma once

#include <string_view>

#include "config/document.h"
#include "config/reporter.h"

namespace patchbay {

/// Whether the list can be a program and its arguments; reports what is wrong with it. `example` is
/// how the key is written.
bool CheckArgv(const TextList& list, std::string_view example, Reporter& reporter);

}  // namespace patchbay
