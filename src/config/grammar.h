#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace patchbay {

/// "rwm" in this order from a selection of its letters in any order; nothing for another text.
std::optional<std::string> NormalisedPermissions(std::string_view text);

/// A host name in lower case, in which * stands for any text; nothing for another text.
std::optional<std::string> NormalizedHost(std::string_view text);

/// host:port, [v6]:port or :port, which becomes [::]:port; nothing for another text.
std::optional<std::string> NormalisedListenAddress(std::string_view text);
inline constexpr std::string_view kHintOnListen =
    "write \"[::]:9478\" for all interfaces, or \"127.0.0.1:9478\"";

}  // namespace patchbay
