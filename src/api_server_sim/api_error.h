#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace patchbay::api_sim {

using Json = nlohmann::json;

/// One reason of an error: an entry of `details.causes` of a Status object. `reason` is a CauseType
/// of the API, such as "FieldValueInvalid", and `field` a path such as "spec.devices[3].name".
struct Cause {
  std::string reason;
  std::string message;
  std::string field = {};
  bool operator==(const Cause&) const = default;
};

/// An error of the API, with the members of a Status object of Kubernetes.
struct ApiError {
  int code = 500;      ///< the status of HTTP
  std::string reason;  ///< a StatusReason of the API, such as "NotFound"
  std::string message;
  /// The object: its name, group, kind (in fact the plural name of the resource, unless the object
  /// is invalid) and UID. Empty members are left out.
  std::string name = {};
  std::string group = {};
  std::string kind = {};
  std::string uid = {};
  std::vector<Cause> causes = {};
  std::optional<std::chrono::seconds> retry_after = {};  ///< also the header Retry-After
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

/// 400 BadRequest.
ApiFailure BadRequest(std::string message);
/// 410 Expired: the version was compacted.
ApiFailure Expired(std::string message);

/// Returns the Status object of an error.
Json StatusOf(const ApiError& error);

/// Returns `value` as JSON on one line. Bytes that are not UTF-8, which a URL can contain, become
/// U+FFFD.
std::string Dump(const Json& value);

}  // namespace patchbay::api_sim
