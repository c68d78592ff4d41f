#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/template_shape.h"

namespace patchbay {

/// Rules of what containers get and of files that are read. Each function returns what is wrong
/// with a text and at which byte of it, or nothing. At load a variable may stand for anything that
/// fits where it stands, and the byte is that of the template; a rendered shape is held to the same
/// rule with the values in their places.

using Problem = std::optional<SyntaxError>;

/// An absolute path without "..", which begins with a slash or a variable of Origin::kNode.
///
/// Text of a device (Origin::kDevice) fills one part of it at most: 1 to 255 bytes of ASCII
/// letters, digits, blanks and ._:@+,=~%#-, but not "." or "..". No variable makes a part empty,
/// "." or "..", alone or with the text around it. So the result lies below the literal text before
/// the first variable.
Problem ProblemWithPath(const TemplateShape& path);
/// The same of a device node of the host, which text of a device may not choose.
Problem ProblemWithNodePath(const TemplateShape& path);
/// The same, and not the root of the container.
Problem ProblemWithContainerPath(const TemplateShape& path);

/// [A-Za-z_][A-Za-z0-9_]*, of which the file writes the beginning.
Problem ProblemWithEnvName(const TemplateShape& name);
/// Whether the variable of this name decides which programs or libraries run, or has an interpreter
/// run something. "LD_" followed by anything does, so this can be asked of a shape too.
bool IsReservedEnv(std::string_view name);

/// A qualified name: an optional DNS subdomain and a slash, then at most 63 bytes of letters,
/// digits, "-", "_", "." with a letter or digit at both ends. What is before the slash is of the
/// file alone.
Problem ProblemWithAnnotationKey(const TemplateShape& key);

/// vendor.com/class=name, as the Container Device Interface has it. Vendor and class are of the
/// file alone. No variable makes the name "all", which is every device of the class.
Problem ProblemWithCdiName(const TemplateShape& name);

}  // namespace patchbay
