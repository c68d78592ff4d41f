#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/template_shape.h"

namespace patchbay {

/// Rules for names and paths that are given to containers, and for paths of files that are read.
/// Each function returns an error message and the offset of the error, or nothing. `check` applies
/// them to templates, where a variable can have any value, and offsets are those of the template.
/// Allocate applies the same rules to rendered text.

using Problem = std::optional<SyntaxError>;

/// An absolute path without "..", which begins with a slash or a variable of Origin::kNode.
///
/// Text from a device (Origin::kDevice) can fill at most one component: 1 to 255 bytes of ASCII
/// letters, digits, spaces and ._:@+,=~%#-, except "." and "..". No variable can make a component
/// empty, "." or "..", alone or together with the text around it. The result is therefore below the
/// literal text before the first variable.
Problem ProblemWithPath(const TemplateShape& path);
/// A path of a device node on the host: like ProblemWithPath, without text from a device.
Problem ProblemWithNodePath(const TemplateShape& path);
/// A path in a container: like ProblemWithPath, and not the root directory.
Problem ProblemWithContainerPath(const TemplateShape& path);
/// The path of a device node in a container: like ProblemWithContainerPath, and not below /proc or
/// /sys, where no runtime can create one.
Problem ProblemWithNodeTarget(const TemplateShape& path);
/// The path of a mount in a container: like ProblemWithContainerPath, and below /proc only the
/// files that runc permits. A variable that could make one of these is no problem yet.
Problem ProblemWithMountTarget(const TemplateShape& path);

/// The name of an environment variable: [A-Za-z_][A-Za-z0-9_]*. Must begin with literal text.
Problem ProblemWithEnvName(const TemplateShape& name);
/// Returns whether the environment variable selects programs or libraries, or makes an interpreter
/// run code. Includes prefixes such as "LD_", so that `name` can be the text of a shape.
bool IsReservedEnv(std::string_view name);

/// A qualified name of Kubernetes: an optional DNS subdomain and a slash, then at most 63 bytes of
/// letters, digits, "-", "_" and ".", with a letter or digit at both ends. No variable before the
/// slash.
Problem ProblemWithAnnotationKey(const TemplateShape& key);

/// A name of the Container Device Interface: vendor.com/class=name. No variable in vendor and
/// class. No variable can make the name "all", which means every device of the class.
Problem ProblemWithCdiName(const TemplateShape& name);

/// The name of a network interface: 1 to 15 letters, digits, "-", "_" and ".", except "." and "..".
/// The kernel allows more, but has a meaning for "%", and programs for ":", "@" and "/".
Problem ProblemWithInterfaceName(const TemplateShape& name);

/// Returns 4 or 6 for an IP address without a zone, and 0 for any other text.
int AddressVersion(std::string_view text);

/// An IPv4 or IPv6 address with the length of its prefix: "192.0.2.7/24", "2001:db8::7/64".
Problem ProblemWithPrefixedAddress(const TemplateShape& address);

}  // namespace patchbay
