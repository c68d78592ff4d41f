#pragma once

#include <span>
#include <string_view>

#include "config/draft.h"
#include "config/reporter.h"
#include "model/template.h"

namespace patchbay {

/// Returns whether the list can be a program and its arguments; otherwise reports why not. The hint
/// shows `example`, a line of TOML with the key.
bool CheckArgv(const TextList& list, std::string_view example, Reporter& reporter);

/// Reports a variable that would choose the program or become part of the code that an interpreter
/// runs, instead of being an argument. `compiled` contains one template for each item of the list.
void CheckVariablesOfArgv(const TextList& list, std::span<const Template> compiled,
                          std::string_view example, Reporter& reporter);

}  // namespace patchbay
