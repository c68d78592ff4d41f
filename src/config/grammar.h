#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "config/skeleton.h"

namespace patchbay {

/// Grammars of what containers get. Each function tells what is wrong with a text and at which byte
/// of its template, or nothing. A variable may stand for anything that fits where it stands.

using Problem = std::optional<SyntaxError>;

/// An absolute path without "..": it begins with a slash or a variable that can hold a path.
Problem ProblemWithPath(const Skeleton& path);
/// The same, and not the root of the container.
Problem ProblemWithContainerPath(const Skeleton& path);

/// [A-Za-z_][A-Za-z0-9_]*
Problem ProblemWithEnvName(const Skeleton& name);
/// Whether the variable of this name decides which programs or libraries run.
bool IsReservedEnv(std::string_view name);

/// A qualified name: an optional DNS subdomain and a slash, then at most 63 bytes of letters,
/// digits, "-", "_", "." with a letter or digit at both ends.
Problem ProblemWithAnnotationKey(const Skeleton& key);

/// vendor.com/class=name, as the Container Device Interface has it.
Problem ProblemWithCdiName(const Skeleton& name);

/// "rwm" in this order from a selection of its letters in any order; nothing for another text.
std::optional<std::string> NormalisedPermissions(std::string_view text);

/// host:port, [v6]:port or :port, which becomes [::]:port; nothing for another text.
std::optional<std::string> NormalisedListenAddress(std::string_view text);
inline constexpr std::string_view kHintOnListen =
    "write \"[::]:9478\" for all interfaces, or \"127.0.0.1:9478\"";

}  // namespace patchbay
