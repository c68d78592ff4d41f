// Discovery documents are made from the table of kinds, so that a new kind needs no change here.
// kubectl reads /api and /apis and then the list of each group; it needs no more to get and list
// objects.

#include "api_server_sim/api_text.h"

#include <utility>

#include "base/format.h"
#include "base/utc_text.h"

namespace patchbay::api_sim {
namespace {

ApiError ErrorOf(int code, const KindInfo& kind, const std::string& name, std::string message) {
  ApiError error = ErrorFor(code, std::move(message));
  error.name = name;
  error.group = kind.group;
  error.kind = kind.plural;
  return error;
}

/// Returns the message of an object that is not valid.
std::string InvalidText(std::string_view qualified_kind, std::string_view name,
                        const std::vector<Cause>& causes) {
  std::string text;
  for (const Cause& cause : causes) {
    text += Format("{}{}: {}", text.empty() ? "" : ", ", cause.field, cause.message);
  }
  if (causes.size() > 1) text = "[" + text + "]";
  return Format("{} \"{}\" is invalid: {}", qualified_kind, name, text);
}

Json VersionInfo(ApiProfile profile) {
  const std::string version(VersionOf(profile));
  return {{"major", "1"},
          {"minor", version.substr(2)},
          {"gitVersion", "v" + version + ".0+patchbay"},
          {"platform", "linux/amd64"}};
}

Json GroupInfo() {
  const Json version{{"groupVersion", "resource.k8s.io/v1"}, {"version", "v1"}};
  return {{"name", "resource.k8s.io"},
          {"versions", Json::array({version})},
          {"preferredVersion", version}};
}

Json ResourceList(std::string_view group) {
  Json resources = Json::array();
  std::string version;
  for (const KindInfo& kind : AllKinds()) {
    if (kind.group != group) continue;
    version = kind.ApiVersion();
    resources.push_back(
        {{"name", kind.plural},
         {"singularName", kind.singular},
         {"namespaced", kind.is_namespaced},
         {"kind", kind.name},
         {"verbs", {"create", "delete", "deletecollection", "get", "list", "update", "watch"}}});
    if (!kind.has_status) continue;
    resources.push_back({{"name", std::string(kind.plural) + "/status"},
                         {"singularName", ""},
                         {"namespaced", kind.is_namespaced},
                         {"kind", kind.name},
                         {"verbs", {"get", "update"}}});
  }
  return {{"kind", "APIResourceList"},
          {"apiVersion", "v1"},
          {"groupVersion", version},
          {"resources", std::move(resources)}};
}

}  // namespace

HttpResponse JsonResponse(const Json& body, int status) {
  return {.status = status, .body = Dump(body)};
}

HttpResponse ErrorResponse(const ApiError& error) {
  HttpResponse response = JsonResponse(StatusOf(error), error.code);
  response.retry_after = error.retry_after;
  return response;
}

std::string ApiTime(Api::Time time) {
  // Without the milliseconds of "2026-01-31T12:00:00.000Z".
  return UtcText(time).substr(0, 19) + "Z";
}

ApiFailure NotFound(const KindInfo& kind, const std::string& name) {
  return ApiFailure(
      ErrorOf(404, kind, name, Format("{} \"{}\" not found", kind.QualifiedPlural(), name)));
}

ApiFailure AlreadyExists(const KindInfo& kind, const std::string& name) {
  ApiError error =
      ErrorOf(409, kind, name, Format("{} \"{}\" already exists", kind.QualifiedPlural(), name));
  error.reason = "AlreadyExists";
  return ApiFailure(std::move(error));
}

ApiFailure Conflict(const KindInfo& kind, const std::string& name, std::string_view detail) {
  return ApiFailure(ErrorOf(409, kind, name,
                            Format("Operation cannot be fulfilled on {} \"{}\": {}",
                                   kind.QualifiedPlural(), name, detail)));
}

ApiFailure Invalid(const KindInfo& kind, const std::string& name, std::vector<Cause> causes) {
  ApiError error = ErrorOf(422, kind, name, InvalidText(kind.QualifiedName(), name, causes));
  error.kind = kind.name;
  error.causes = std::move(causes);
  return ApiFailure(std::move(error));
}

ApiFailure InvalidOptions(std::string_view options_kind, std::vector<Cause> causes) {
  constexpr std::string_view kGroup = "meta.k8s.io";
  ApiError error = ErrorFor(422, InvalidText(Format("{}.{}", options_kind, kGroup), "", causes));
  error.group = kGroup;
  error.kind = options_kind;
  error.causes = std::move(causes);
  return ApiFailure(std::move(error));
}

// The real server encodes the token as base64. It is opaque to clients, so hexadecimal digits do.
std::string EncodeContinueToken(const ContinueToken& token) {
  std::string text;
  for (const char c : Dump({{"v", "meta.k8s.io/v1"},
                            {"rv", token.version},
                            {"ns", token.namespace_name},
                            {"start", token.name}})) {
    text += Format("{:02x}", static_cast<unsigned char>(c));
  }
  return text;
}

ApiResult<ContinueToken> DecodeContinueToken(const std::string& text) {
  std::string bytes;
  bytes.reserve(text.size() / 2);
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::strtoul(text.substr(i, 2).c_str(), nullptr, 16)));
  }
  const Json token = Json::parse(bytes, nullptr, /*allow_exceptions=*/false);
  const auto is_valid = [&] {
    return token.is_object() && token.contains("rv") && token["rv"].is_number_unsigned() &&
           token.contains("ns") && token["ns"].is_string() && token.contains("start") &&
           token["start"].is_string();
  };
  if (!is_valid()) return BadRequest("continue key is not valid");
  return ContinueToken{token["rv"].get<std::uint64_t>(), token["ns"].get<std::string>(),
                       token["start"].get<std::string>()};
}

std::optional<HttpResponse> DiscoveryResponse(std::string_view path, ApiProfile profile) {
  if (path == "/version") return JsonResponse(VersionInfo(profile));
  if (path == "/readyz" || path == "/livez" || path == "/healthz") {
    return HttpResponse{.body = "ok", .content_type = "text/plain; charset=utf-8"};
  }
  if (path == "/api")
    return JsonResponse({{"kind", "APIVersions"}, {"versions", Json::array({"v1"})}});
  if (path == "/apis") {
    return JsonResponse(
        {{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", Json::array({GroupInfo()})}});
  }
  if (path == "/apis/resource.k8s.io") {
    Json group = GroupInfo();
    group["kind"] = "APIGroup";
    group["apiVersion"] = "v1";
    return JsonResponse(group);
  }
  if (path == "/api/v1") return JsonResponse(ResourceList(""));
  if (path == "/apis/resource.k8s.io/v1") return JsonResponse(ResourceList("resource.k8s.io"));
  return std::nullopt;
}

}  // namespace patchbay::api_sim
