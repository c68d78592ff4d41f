#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/api_server/kinds.h"

namespace patchbay::api_sim {

using Json = nlohmann::json;

/// An error of the API.
struct ApiError {
  int code = 500;      ///< the status of HTTP
  std::string reason;  ///< a StatusReason of the API, such as "NotFound"
  std::string message;
  std::optional<std::chrono::seconds> retry_after = {};  ///< the header Retry-After
};

/// A value or an ApiError.
template <class T>
class [[nodiscard]] ApiResult : public tl::expected<T, ApiError> {
 public:
  using tl::expected<T, ApiError>::expected;
};

using ApiFailure = tl::unexpected<ApiError>;

/// Returns the error for a status of HTTP, with the reason that the API has for it.
ApiError ErrorFor(int code, std::string message);

/// The errors below have the messages of the real server.

ApiFailure BadRequest(std::string message);
/// 410 Expired: the version was compacted.
ApiFailure Expired(std::string message);
ApiFailure NotFound(const KindInfo& kind, const std::string& name);
ApiFailure AlreadyExists(const KindInfo& kind, const std::string& name);
ApiFailure Conflict(const KindInfo& kind, const std::string& name, std::string_view detail);
/// 422. `errors` are those of fields, see field_errors.h.
ApiFailure Invalid(const KindInfo& kind, const std::string& name,
                   const std::vector<std::string>& errors);

/// Returns the Status object of an error.
Json StatusOf(const ApiError& error);

/// Returns `value` as JSON on one line. Bytes that are not UTF-8, which a URL can contain, become
/// U+FFFD.
std::string Dump(const Json& value);

}  // namespace patchbay::api_sim
