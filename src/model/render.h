#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/template_shape.h"
#include "model/validators.h"

namespace patchbay {

/// Renders a template and applies `rule` to the result, the same rule that `check` applies to the
/// template. Fails with kInvalid; the message names `what` is rendered, the variable, its value and
/// a fix. The value in the message is not escaped and can contain any bytes.
Result<std::string> RenderChecked(const Template& compiled, const Variables& variables,
                                  std::string_view what, Problem (*rule)(const TemplateShape&));

/// Renders a path like RenderChecked, and normalizes it: without "." components and without empty
/// ones.
Result<std::string> RenderPath(const Template& path, const Variables& variables,
                               std::string_view what,
                               Problem (*rule)(const TemplateShape&) = ProblemWithPath);

/// Renders the name of an environment variable like RenderChecked. Fails if the name is reserved. A
/// name without variables is not checked again: it was when the file was loaded.
Result<std::string> RenderEnvName(const Template& name, const Variables& variables);

}  // namespace patchbay
