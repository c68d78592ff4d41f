#pragma once

#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace patchbay {

/// The verbs of the Kubernetes API, as in RBAC rules.
enum class ApiVerb { kGet, kList, kWatch, kCreate, kUpdate, kDelete };
/// Indexed by ApiVerb.
inline constexpr std::string_view kApiVerbNames[] = {"get",    "list",   "watch",
                                                     "create", "update", "delete"};

/// A request to the API server.
struct ApiRequest {
  ApiVerb verb = ApiVerb::kGet;
  std::string target;     ///< path and query, see ApiTarget
  std::string body = {};  ///< JSON; for a delete its preconditions, or empty
  /// For the whole exchange; for a watch, until its response begins.
  std::chrono::milliseconds deadline = std::chrono::seconds(30);
  std::size_t max_body = 8 << 20;  ///< bytes of the response; of a watch in all
  /// The maximum time between two parts of a watch, and its maximum duration. A watch that exceeds
  /// one of them ends with kTimeout.
  std::chrono::milliseconds max_silence = std::chrono::minutes(3);
  std::chrono::milliseconds max_duration = std::chrono::minutes(6);
};

/// A response with a status of 200 to 299. The body is untrusted.
struct ApiResponse {
  unsigned status = 200;
  std::string body = {};  ///< empty for a watch
};

enum class ApiErrorKind {
  kRequest,      ///< not sent: the request is not valid, or too many are pending
  kCredentials,  ///< not sent: a file with credentials cannot be read or is not valid
  kNetwork,      ///< no connection, or it was lost
  kTls,          ///< the server was not verified, or does not accept the client's certificate
  kTimeout,      ///< a deadline was exceeded
  kResponse,     ///< the response is not valid, or exceeds a bound
  kStatus,       ///< the API server rejected the request
};
/// Indexed by ApiErrorKind. For metrics.
inline constexpr std::string_view kApiErrorKindNames[] = {
    "request", "credentials", "network", "tls", "timeout", "response", "status"};

/// A failed request.
struct ApiError {
  ApiErrorKind kind = ApiErrorKind::kNetwork;
  std::string message;      ///< for the administrator, printable
  unsigned status = 0;      ///< the HTTP status, only if the kind is kStatus
  std::string reason = {};  ///< of the API, such as "Conflict"; can be empty
  std::optional<std::chrono::seconds> retry_after = {};  ///< at most kMaxRetryAfter
};

/// Returns whether the object of the request does not exist. Another 404 is of a proxy, or of an
/// API server without this version of the API.
inline bool IsNotFound(const ApiError& error) {
  return error.status == 404 && error.reason == "NotFound";
}

/// A response, or the reason why there is none.
using ApiResult = tl::expected<ApiResponse, ApiError>;

inline tl::unexpected<ApiError> ApiFail(ApiErrorKind kind, std::string message) {
  return tl::unexpected<ApiError>(ApiError{.kind = kind, .message = std::move(message)});
}

/// Returns the target for a path of the API, such as "/api/v1/nodes/", and its query. Values are
/// percent-encoded; the path and the names of parameters are taken as they are.
std::string ApiTarget(
    std::string_view path,
    std::initializer_list<std::pair<std::string_view, std::string_view>> query = {});

/// Percent-encodes a name for use in a path: a slash in a name does not lead to another path.
std::string EncodeForUrl(std::string_view text);

/// Returns whether a target can be sent: an absolute path of visible ASCII characters, at most 8
/// KiB long, without "." and ".." as components.
bool IsApiTarget(std::string_view target);

}  // namespace patchbay
