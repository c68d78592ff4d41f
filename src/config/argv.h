#pragma once

#include <span>
#include <string_view>

#include "config/draft.h"
#include "config/reporter.h"
#include "model/template.h"

namespace patchbay {

/// Whether the list can be a program and its arguments; reports what is wrong with it. `example` is
/// how the key is written.
bool CheckArgv(const TextList& list, std::string_view example, Reporter& reporter);

/// Reports a variable that would decide what is run, and is not data of the program. `compiled` are
/// the templates of the list, all of them.
void CheckVariablesOfArgv(const TextList& list, std::span<const Template> compiled,
                          std::string_view example, Reporter& reporter);

}  // namespace patchbay
