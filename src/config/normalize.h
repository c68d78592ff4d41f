#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace patchbay {

/// Returns the given letters of "rwm" in this order; none if the text is invalid.
std::optional<std::string> NormalizedPermissions(std::string_view text);

/// Returns host:port, [v6]:port or, for :port, [::]:port; none if the text is invalid.
std::optional<std::string> NormalizedListenAddress(std::string_view text);
inline constexpr std::string_view kHintOnListen =
    "write \"[::]:9478\" for all interfaces, or \"127.0.0.1:9478\"";

}  // namespace patchbay
