// A path names a group and version, optionally a namespace, a resource and an object:
// /apis/GROUP/VERSION/namespaces/NS/RESOURCE/NAME, or /api/VERSION/… for the core group. The method
// and the query `watch` then decide about the verb.

#include "sim/api_server/request.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "base/format.h"
#include "base/number.h"
#include "sim/api_server/field_errors.h"

namespace patchbay::api_sim {
namespace {

using Query = std::map<std::string, std::string, std::less<>>;

std::string PercentDecode(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    const char* const digits = text.data() + i + 1;
    const bool is_encoded = text[i] == '%' && i + 2 < text.size() &&
                            std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2;
    decoded.push_back(is_encoded ? static_cast<char>(byte) : text[i]);
    if (is_encoded) i += 2;
  }
  return decoded;
}

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

Query ParseQuery(std::string_view text) {
  Query query;
  for (const std::string& part : Split(text, '&')) {
    const std::size_t equals = std::min(part.find('='), part.size());
    query.emplace(part.substr(0, equals),
                  PercentDecode(std::string_view(part).substr(std::min(equals + 1, part.size()))));
  }
  return query;
}

/// Returns a parameter, or "".
std::string ValueOf(const Query& query, std::string_view name) {
  const auto found = query.find(name);
  return found == query.end() ? "" : found->second;
}

/// Sets a number, unless the query does not have it.
template <class Number>
ApiResult<void> ReadNumber(const Query& query, std::string_view name, Number& number) {
  const std::string text = ValueOf(query, name);
  if (text.empty()) return {};
  if (const auto read = ParseNumber<Number>(text)) {
    number = *read;
    return {};
  }
  return BadRequest(
      Format("invalid {}: strconv.ParseUint: parsing {}: invalid syntax", name, Dump(text)));
}

/// Fails for a field that the kind cannot select by, as the real server does.
ApiResult<void> ReadFields(std::string_view selector, ObjectRequest& request) {
  for (const std::string& part : Split(selector, ',')) {
    const std::size_t equals = std::min(part.find('='), part.size());
    const std::string field = part.substr(0, equals);
    const bool is_known = request.kind->kind == Kind::kResourceSlice &&
                          (field == "spec.driver" || field == "spec.nodeName");
    if (!is_known || equals == part.size()) {
      return BadRequest(Format("field label not supported: {}", Dump(field)));
    }
    request.fields.push_back({field.substr(std::string("spec.").size()), part.substr(equals + 1)});
  }
  return {};
}

ApiResult<void> ReadOptions(const Query& query, ObjectRequest& request) {
  for (const char* name : {"labelSelector", "sendInitialEvents", "resourceVersionMatch"}) {
    if (query.contains(name)) {
      return BadRequest(Format("the built-in API server does not support {}", name));
    }
  }
  std::uint64_t timeout = 0;
  for (const auto& read : {ReadFields(ValueOf(query, "fieldSelector"), request),
                           ReadNumber(query, "limit", request.limit),
                           ReadNumber(query, "resourceVersion", request.resource_version),
                           ReadNumber(query, "timeoutSeconds", timeout)}) {
    if (!read) return read;
  }
  if (query.contains("timeoutSeconds")) request.timeout = std::chrono::seconds(timeout);
  request.continue_token = ValueOf(query, "continue");
  request.allows_bookmarks = ValueOf(query, "allowWatchBookmarks") == "true";
  request.is_dry_run = query.contains("dryRun");
  if (request.is_dry_run && (ValueOf(query, "dryRun") != "All" || request.verb != Verb::kCreate)) {
    return BadRequest("the built-in API server supports only dryRun=All, of creations");
  }
  return {};
}

/// Sets kind, namespace and name from the parts of a path.
bool ReadPath(const std::vector<std::string>& path, ObjectRequest& request) {
  const bool is_core = path.size() >= 3 && path[0] == "api";
  const bool is_group = path.size() >= 4 && path[0] == "apis";
  if (!is_core && !is_group) return false;
  std::size_t next = is_core ? 2 : 3;
  const std::string api_version = is_core ? path[1] : path[1] + "/" + path[2];
  if (path.size() > next + 2 && path[next] == "namespaces") {
    request.namespace_name = path[next + 1];
    next += 2;
  }
  request.kind = FindKind(api_version, path[next]);
  if (request.kind == nullptr || path.size() > next + 2) return false;
  if (path.size() == next + 2) request.name = path[next + 1];
  const bool has_namespace = !request.namespace_name.empty();
  return request.kind->is_namespaced ? has_namespace || request.name.empty() : !has_namespace;
}

std::optional<Verb> VerbOf(std::string_view method, const ObjectRequest& request, bool is_watch) {
  const bool names_object = !request.name.empty();
  // Objects are created and deleted in a namespace, not in all.
  const bool lacks_namespace = request.kind->is_namespaced && request.namespace_name.empty();
  if (method == "GET" && is_watch && names_object) return std::nullopt;
  if (method == "GET" && is_watch) return Verb::kWatch;
  if (method == "GET") return names_object ? Verb::kGet : Verb::kList;
  if (method == "POST" && !names_object && !lacks_namespace) return Verb::kCreate;
  if (method == "DELETE" && names_object) return Verb::kDelete;
  if (method == "DELETE" && !lacks_namespace) return Verb::kDeleteCollection;
  // No client updates objects of other kinds.
  if (method == "PUT" && names_object && request.kind->kind == Kind::kResourceSlice) {
    return Verb::kUpdate;
  }
  return std::nullopt;
}

}  // namespace

std::string_view NameOf(Verb verb) {
  constexpr std::string_view kNames[] = {"get",    "list",   "watch",           "create",
                                         "update", "delete", "deletecollection"};
  return kNames[static_cast<std::size_t>(verb)];
}

ApiResult<ObjectRequest> ParseRequest(const HttpRequest& request) {
  const std::string_view target = request.target;
  const std::size_t question = std::min(target.find('?'), target.size());
  const Query query = ParseQuery(target.substr(std::min(question + 1, target.size())));
  std::vector<std::string> path = Split(target.substr(0, question), '/');
  for (std::string& part : path) part = PercentDecode(part);
  ObjectRequest parsed;
  if (!ReadPath(path, parsed)) {
    return ApiFailure(ErrorFor(404, "the server could not find the requested resource"));
  }
  const std::string watch = ValueOf(query, "watch");
  const auto verb = VerbOf(request.method, parsed, watch == "true" || watch == "1");
  if (!verb) {
    return ApiFailure(
        ErrorFor(405, "the server does not allow this method on the requested resource"));
  }
  parsed.verb = *verb;
  const std::string_view type = request.content_type;
  if (!request.body.empty() && !type.empty() && !type.starts_with("application/json")) {
    return ApiFailure(
        ErrorFor(415,
                 "the body of the request was in an unknown format - accepted media types include: "
                 "application/json"));
  }
  if (const auto read = ReadOptions(query, parsed); !read) return ApiFailure(read.error());
  return parsed;
}

bool Selects(const ObjectRequest& request, std::string_view namespace_name, const Json& object) {
  if (!request.namespace_name.empty() && request.namespace_name != namespace_name) return false;
  return std::ranges::all_of(request.fields, [&](const FieldTerm& term) {
    return Text(Member(object, "spec"), term.member) == term.value;
  });
}

}  // namespace patchbay::api_sim
