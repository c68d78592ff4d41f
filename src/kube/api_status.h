#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>

#include "kube/api_request.h"

namespace patchbay {

/// The maximum of Retry-After that is honored: no response stops the requests for longer.
inline constexpr std::chrono::seconds kMaxRetryAfter{60};

/// Returns the error for a response whose status is not 200 to 299. The body is a Status object of
/// the API (k8s.io/apimachinery pkg/apis/meta/v1 types.go) if the API server sent it, and anything
/// if a proxy did: then the message has only the HTTP status. Messages of redirects, 401, 403, 404
/// and 422 name the next step. The message of the server is cleaned, see CleanServerText. Pure.
ApiError ErrorOfResponse(unsigned status, std::string_view retry_after, std::string_view body);

/// Returns the error for the Status object of an ERROR event in a watch, whose code is the HTTP
/// status. The kind is kResponse if it is not a Status.
ApiError ErrorOfEvent(const nlohmann::json& object);

/// Returns the value of a Retry-After header in seconds, at most kMaxRetryAfter; nothing for a date
/// and anything else. The API server sends seconds.
std::optional<std::chrono::seconds> ParseRetryAfter(std::string_view value);

}  // namespace patchbay
