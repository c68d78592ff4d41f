#pragma once

#include "config/draft.h"
#include "config/reporter.h"
#include "model/hardware_patterns.h"

namespace patchbay {

/// Compiles `usb` with `serial`, `pci` and `udev` of a match. Reports malformed values, `serial`
/// without `usb`, and a `udev` that matches every device. Invalid parts are left out of the result.
HardwarePatterns CompileConditions(const MatchDraft& draft, Reporter& reporter);

/// Compiles a pattern for one name. Reports a malformed pattern.
std::optional<NamePattern> CompileNamePattern(const Text& text, Reporter& reporter);

}  // namespace patchbay
