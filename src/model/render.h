#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/template_shape.h"
#include "model/validators.h"

namespace patchbay {

/// Renders a template and holds the result to the rule that `check` holds the template to. Fails
/// with kInvalid; the message names `what` is rendered, the variable, its value and what to do, and
/// may hold any bytes of that value.
Result<std::string> RenderChecked(const Template& compiled, const Variables& variables,
                                  std::string_view what, Problem (*rule)(const TemplateShape&));

/// The same for a path; the result is in its shortest form, so that one place has one name.
Result<std::string> RenderPath(const Template& path, const Variables& variables,
                               std::string_view what,
                               Problem (*rule)(const TemplateShape&) = ProblemWithPath);

/// The name of an environment variable, which must not be a reserved one.
Result<std::string> RenderEnvName(const Template& name, const Variables& variables);

}  // namespace patchbay
