#pragma once

#include "config/draft.h"
#include "config/reporter.h"
#include "model/hardware_patterns.h"

namespace patchbay {

/// Compiles `usb` with `serial`, `pci` and `udev` of a match. Reports what is malformed, a `serial`
/// without `usb`, and a `udev` that every device would meet; what is reported is left out.
HardwarePatterns CompileConditions(const MatchDraft& draft, Reporter& reporter);

/// A pattern for one name; reports a malformed one. `at` is where it stands.
std::optional<NamePattern> CompileNamePattern(const Text& text, Reporter& reporter);

}  // namespace patchbay
