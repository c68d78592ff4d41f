#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api_server_sim/api_error.h"
#include "api_server_sim/kinds.h"

namespace patchbay::api_sim {

/// A request of HTTP, without what belongs to the connection.
struct HttpRequest {
  std::string method = "GET";
  std::string target;  ///< path and query
  std::string body = {};
  std::string content_type = {};
  std::string accept = {};
};

/// The action of a request, with the names that audit logs and RBAC rules use.
enum class Verb { kGet, kList, kWatch, kCreate, kUpdate, kDelete, kDeleteCollection };
std::string_view NameOf(Verb verb);

/// A term of a fieldSelector: the field has the value, or does not.
struct FieldTerm {
  std::string field;
  std::string value;
  bool is_negated = false;
};

/// The query of a request.
struct RequestOptions {
  std::vector<FieldTerm> fields = {};
  std::size_t limit = 0;  ///< 0: no limit
  std::string continue_token = {};
  std::optional<std::uint64_t> resource_version = {};
  bool is_exact_version = false;  ///< resourceVersionMatch=Exact
  bool allows_bookmarks = false;
  std::optional<std::chrono::seconds> timeout = {};
  bool is_dry_run = false;  ///< of a write: it is checked and answered, but not performed
};

/// A request for objects.
struct ObjectRequest {
  Verb verb = Verb::kGet;
  const KindInfo* kind = nullptr;
  std::string namespace_name = {};  ///< "": all namespaces, or a kind without them
  std::string name = {};            ///< "" for a collection
  bool is_status = false;           ///< the subresource "status"
  RequestOptions options = {};
  Json delete_options = Json::object();  ///< the body of a DELETE
};

/// Returns the request for objects that a request of HTTP describes. Reads no body except that of a
/// DELETE. Fails with the errors of the server: 400, 404 for another path or resource, 405, 406,
/// 415, and 422 for options that are not valid.
ApiResult<ObjectRequest> ParseRequest(const HttpRequest& request);

/// Returns whether an object has the fields that a selector requires.
bool MatchesFields(const Json& object, const std::vector<FieldTerm>& fields);

}  // namespace patchbay::api_sim
