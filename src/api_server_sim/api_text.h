#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api_server_sim/api.h"

namespace patchbay::api_sim {

/// Parts of responses, and the errors of objects with the messages of the real server.

/// Returns the response with a JSON document.
HttpResponse JsonResponse(const Json& body, int status = 200);
/// "2026-01-31T12:00:00Z"
std::string ApiTime(Api::Time time);

ApiFailure NotFound(const KindInfo& kind, const std::string& name);
ApiFailure AlreadyExists(const KindInfo& kind, const std::string& name);
ApiFailure Conflict(const KindInfo& kind, const std::string& name, std::string_view detail);
ApiFailure Invalid(const KindInfo& kind, const std::string& name, std::vector<Cause> causes);
/// Returns the error of options of a write, such as "CreateOptions".
ApiFailure InvalidOptions(std::string_view options_kind, std::vector<Cause> causes);

/// A position in a list: the version of the list and the last object that was returned.
struct ContinueToken {
  std::uint64_t version = 0;
  std::string namespace_name;
  std::string name;
};
std::string EncodeContinueToken(const ContinueToken& token);
/// Fails with 400.
ApiResult<ContinueToken> DecodeContinueToken(const std::string& text);

/// Returns the response to a request for discovery or the health of the server; nothing for another
/// path.
std::optional<HttpResponse> DiscoveryResponse(std::string_view path, ApiProfile profile);

}  // namespace patchbay::api_sim
