#pragma once

#include <algorithm>
#include <string_view>

#include "base/diagnostics.h"
#include "fuzz.h"

namespace patchbay::fuzz {

/// Requires that the diagnostics of a text can be printed, and that their lines exist.
inline void RequireDiagnostics(const Diagnostics& diagnostics, std::string_view text) {
  Require(diagnostics.empty() == diagnostics.RenderText().empty());
  const auto lines = std::count(text.begin(), text.end(), '\n') + 1;
  for (const Diagnostic& diagnostic : diagnostics.Sorted()) {
    Require(!diagnostic.code.empty() && !diagnostic.message.empty());
    Require(diagnostic.place.line >= 0 && diagnostic.place.line <= lines);
  }
}

}  // namespace patchbay::fuzz
