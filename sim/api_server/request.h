#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/api_server/api_error.h"
#include "sim/api_server/kinds.h"

namespace patchbay::api_sim {

/// A request of HTTP, without what belongs to the connection.
struct HttpRequest {
  std::string method = "GET";
  std::string target;  ///< path and query
  std::string body = {};
  std::string content_type = {};
};

/// The action of a request, with the names that audit logs and RBAC rules use.
enum class Verb { kGet, kList, kWatch, kCreate, kUpdate, kDelete, kDeleteCollection };
std::string_view NameOf(Verb verb);

/// A term of a fieldSelector: a member of the spec has the value.
struct FieldTerm {
  std::string member;
  std::string value;
};

/// A request for objects.
struct ObjectRequest {
  Verb verb = Verb::kGet;
  const KindInfo* kind = nullptr;
  std::string namespace_name = {};  ///< "": all namespaces, or a kind without them
  std::string name = {};            ///< "" for a collection
  std::vector<FieldTerm> fields = {};
  std::size_t limit = 0;  ///< of a list; 0: no limit
  std::string continue_token = {};
  std::uint64_t resource_version = 0;  ///< of a watch; 0: none
  bool allows_bookmarks = false;
  std::optional<std::chrono::seconds> timeout = {};
  bool is_dry_run = false;  ///< of a creation: it is checked and answered, but not performed
};

/// Returns the request for objects that a request of HTTP describes, without its body. Fails with
/// the errors of the server: 400, 404 for another path or resource, 405 and 415. An option that
/// would change the result, but is not supported, is a 400, so that no client relies on it by
/// accident; unknown options are ignored, as in the real server.
ApiResult<ObjectRequest> ParseRequest(const HttpRequest& request);

/// Returns whether the namespace and the fields of a request select an object of its kind.
bool Selects(const ObjectRequest& request, std::string_view namespace_name, const Json& object);

}  // namespace patchbay::api_sim
