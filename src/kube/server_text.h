#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace patchbay {

/// Returns a text that the API server, or a proxy before it, wrote into a response: without what
/// can be a token, because some return the Authorization header, and messages are logged, shown and
/// published. Each run of kMinTokenBytes or more characters of tokens becomes "(removed)", and the
/// word after "Bearer" or "Basic". A token can be split over lines, and have escapes of URLs, JSON
/// and HTML. Names of APIs (resourceslices.resource.k8s.io) stay. Then the text is truncated and
/// made printable. Everything that is shown of a response comes from here. Pure.
std::string CleanServerText(std::string_view text, std::size_t max_bytes);

inline constexpr std::size_t kMinTokenBytes = 16;

}  // namespace patchbay
