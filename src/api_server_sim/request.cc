// A path names a group and version, optionally a namespace, a resource, an object and a
// subresource: /apis/GROUP/VERSION/namespaces/NS/RESOURCE/NAME/SUBRESOURCE, or /api/VERSION/… for
// the core group. The method and the query `watch` then decide about the verb. An option that would
// change the result, but is not supported, is an error, so that no client relies on it by accident.
// Unknown options are ignored, as in the real server.

#include "api_server_sim/request.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "api_server_sim/api_text.h"
#include "api_server_sim/field_errors.h"
#include "api_server_sim/shapes.h"
#include "base/format.h"

namespace patchbay::api_sim {
namespace {

struct VerbInfo {
  std::string_view name;
  std::string_view options = {};  ///< the kind of the options of a write
};

constexpr VerbInfo kVerbs[] = {{"get"},
                               {"list"},
                               {"watch"},
                               {"create", "CreateOptions"},
                               {"update", "UpdateOptions"},
                               {"delete", "DeleteOptions"},
                               {"deletecollection", "DeleteOptions"}};

const VerbInfo& RowOf(Verb verb) { return kVerbs[static_cast<std::size_t>(verb)]; }

/// The values of a parameter are in their order in the request.
using Query = std::multimap<std::string, std::string>;

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string PercentDecode(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
    const int low = high < 0 ? -1 : HexDigit(text[i + 2]);
    if (low >= 0) {
      decoded.push_back(static_cast<char>(high * 16 + low));
      i += 2;
    } else {
      decoded.push_back(text[i] == '+' ? ' ' : text[i]);
    }
  }
  return decoded;
}

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  parts.reserve(8);
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
    const std::size_t equals = part.find('=');
    std::string value = equals == std::string::npos ? "" : part.substr(equals + 1);
    query.emplace(PercentDecode(part.substr(0, equals)), PercentDecode(value));
  }
  return query;
}

/// Returns the first value of a parameter, or "".
std::string ValueOf(const Query& query, const std::string& name) {
  const auto [first, last] = query.equal_range(name);
  return first == last ? "" : first->second;
}

bool IsTrue(const Query& query, const std::string& name) {
  const std::string value = ValueOf(query, name);
  return value == "true" || value == "1";
}

/// Returns a number of the query, or nothing if it is absent.
ApiResult<std::optional<std::uint64_t>> NumberOf(const Query& query, const std::string& name) {
  const std::string text = ValueOf(query, name);
  if (text.empty()) return std::optional<std::uint64_t>();
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) {
    return BadRequest(
        Format("invalid {}: strconv.ParseUint: parsing {}: invalid syntax", name, Dump(text)));
  }
  return std::optional(number);
}

ApiFailure NoSuchResource() {
  return ApiFailure(ErrorFor(404, "the server could not find the requested resource"));
}

/// Fails for a field that the kind cannot select by, as the real server does.
ApiResult<std::vector<FieldTerm>> ParseFields(std::string_view selector, const KindInfo& kind) {
  std::vector<FieldTerm> terms;
  for (const std::string& part : Split(selector, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0) {
      return BadRequest(Format("invalid field selector: {}: can't understand it", Dump(part)));
    }
    FieldTerm term{.field = part.substr(0, equals), .value = part.substr(equals + 1)};
    term.is_negated = term.field.ends_with('!');
    if (term.is_negated) term.field.pop_back();
    if (term.value.starts_with('=')) term.value.erase(0, 1);
    const bool is_known = term.field == "metadata.name" ||
                          (kind.is_namespaced && term.field == "metadata.namespace") ||
                          std::find(kind.selectable_fields.begin(), kind.selectable_fields.end(),
                                    term.field) != kind.selectable_fields.end();
    if (!is_known) {
      return BadRequest(Format("field label not supported: {}", Dump(term.field)));
    }
    terms.push_back(std::move(term));
  }
  return terms;
}

ApiResult<RequestOptions> ParseOptions(const Query& query, const KindInfo& kind) {
  for (const char* name : {"labelSelector", "sendInitialEvents"}) {
    if (!ValueOf(query, name).empty()) {
      return BadRequest(Format("the built-in API server does not support {}", name));
    }
  }
  RequestOptions options;
  auto fields = ParseFields(ValueOf(query, "fieldSelector"), kind);
  if (!fields) return ApiFailure(std::move(fields).error());
  options.fields = *std::move(fields);
  const auto limit = NumberOf(query, "limit");
  if (!limit) return ApiFailure(limit.error());
  options.limit = static_cast<std::size_t>(limit->value_or(0));
  const auto version = NumberOf(query, "resourceVersion");
  if (!version) return ApiFailure(version.error());
  options.resource_version = *version;
  const auto timeout = NumberOf(query, "timeoutSeconds");
  if (!timeout) return ApiFailure(timeout.error());
  if (*timeout) options.timeout = std::chrono::seconds(std::min<std::uint64_t>(**timeout, 86'400));
  options.continue_token = ValueOf(query, "continue");
  options.is_exact_version = ValueOf(query, "resourceVersionMatch") == "Exact";
  options.allows_bookmarks = IsTrue(query, "allowWatchBookmarks");
  return options;
}

/// Sets the options that only writes have. Those of a DELETE are in its query or, if it has a body,
/// only in that, as in the real server.
ApiResult<void> ParseWriteOptions(const HttpRequest& http, const Query& query,
                                  ObjectRequest& request) {
  const std::string_view options_kind = RowOf(request.verb).options;
  if (options_kind.empty()) return {};
  Json dry_run = Json::array();
  if (http.method == "DELETE" && !http.body.empty()) {
    auto options = DecodeDeleteOptions(http.body);
    if (!options) return ApiFailure(std::move(options).error());
    request.delete_options = *std::move(options);
    dry_run = Member(request.delete_options, "dryRun");
  } else {
    const auto [first, last] = query.equal_range("dryRun");
    for (auto next = first; next != last; ++next) dry_run.push_back(next->second);
  }
  request.options.is_dry_run = !dry_run.empty();
  if (std::all_of(dry_run.begin(), dry_run.end(), [](const Json& v) { return v == "All"; })) {
    return {};
  }
  FieldErrors errors;
  errors.NotSupported("dryRun", dry_run, {"All"});
  return InvalidOptions(options_kind, errors.Take());
}

/// Fails if the media types do not include JSON, which is all that this server has.
ApiResult<void> CheckMediaTypes(const HttpRequest& http) {
  if (!http.body.empty() && !http.content_type.empty() &&
      !http.content_type.starts_with("application/json")) {
    return ApiFailure(
        ErrorFor(415,
                 "the body of the request was in an unknown format - accepted media types include: "
                 "application/json"));
  }
  const std::string_view accept = http.accept;
  const bool takes_json = accept.empty() || accept.find("application/json") != accept.npos ||
                          accept.find("*/*") != accept.npos ||
                          accept.find("application/*") != accept.npos;
  if (takes_json) return {};
  return ApiFailure(ErrorFor(406, "only the following media types are accepted: application/json"));
}

/// Sets kind, namespace, name and subresource from the parts of a path.
bool ParsePath(const std::vector<std::string>& path, ObjectRequest& request) {
  const bool is_core = path.size() >= 3 && path[0] == "api";
  const bool is_group = path.size() >= 4 && path[0] == "apis";
  if (!is_core && !is_group) return false;
  std::size_t next = is_core ? 2 : 3;
  const std::string group = is_core ? "" : path[1];
  const std::string& version = path[next - 1];
  if (path.size() > next + 2 && path[next] == "namespaces") {
    request.namespace_name = path[next + 1];
    next += 2;
  }
  request.kind = FindKind(group, version, path[next]);
  if (request.kind == nullptr) return false;
  if (!request.kind->is_namespaced && !request.namespace_name.empty()) return false;
  if (path.size() > next + 1) request.name = path[next + 1];
  if (path.size() > next + 2) {
    if (path[next + 2] != "status" || !request.kind->has_status) return false;
    request.is_status = true;
  }
  const bool names_object = !request.name.empty();
  if (request.kind->is_namespaced && names_object && request.namespace_name.empty()) return false;
  return path.size() <= next + 3;
}

std::optional<Verb> VerbOf(std::string_view method, bool names_object, bool is_watch) {
  if (method == "GET" && is_watch) return Verb::kWatch;
  if (method == "GET") return names_object ? Verb::kGet : Verb::kList;
  if (method == "POST" && !names_object) return Verb::kCreate;
  if (method == "PUT" && names_object) return Verb::kUpdate;
  if (method == "DELETE") return names_object ? Verb::kDelete : Verb::kDeleteCollection;
  return std::nullopt;
}

/// Returns the text of a field such as "spec.nodeName"; "" if it is absent.
std::string FieldText(const Json& object, std::string_view field) {
  const Json* value = &object;
  for (const std::string& name : Split(field, '.')) value = &Member(*value, name);
  if (value->is_string()) return value->get<std::string>();
  if (value->is_null()) return field == "spec.unschedulable" ? "false" : "";
  return Dump(*value);
}

}  // namespace

std::string_view NameOf(Verb verb) { return RowOf(verb).name; }

ApiResult<ObjectRequest> ParseRequest(const HttpRequest& request) {
  const std::string_view target = request.target;
  const std::size_t question = target.find('?');
  const Query query =
      ParseQuery(question == std::string_view::npos ? "" : target.substr(question + 1));
  std::vector<std::string> path = Split(target.substr(0, question), '/');
  for (std::string& part : path) part = PercentDecode(part);
  ObjectRequest parsed;
  if (!ParsePath(path, parsed)) return NoSuchResource();
  const auto verb = VerbOf(request.method, !parsed.name.empty(), IsTrue(query, "watch"));
  const bool is_allowed =
      verb && (!parsed.is_status || *verb == Verb::kGet || *verb == Verb::kUpdate);
  // An object is created in a namespace, not in all.
  const bool lacks_namespace = parsed.kind->is_namespaced && parsed.namespace_name.empty() &&
                               (verb == Verb::kCreate || verb == Verb::kDeleteCollection);
  if (!is_allowed || lacks_namespace) {
    return ApiFailure(
        ErrorFor(405, "the server does not allow this method on the requested resource"));
  }
  parsed.verb = *verb;
  if (auto checked = CheckMediaTypes(request); !checked) return ApiFailure(checked.error());
  auto options = ParseOptions(query, *parsed.kind);
  if (!options) return ApiFailure(std::move(options).error());
  parsed.options = *std::move(options);
  if (auto set = ParseWriteOptions(request, query, parsed); !set) return ApiFailure(set.error());
  if (parsed.verb == Verb::kWatch && !parsed.name.empty()) {
    // A watch of one object is a watch of the collection that selects its name.
    parsed.options.fields.push_back({"metadata.name", std::exchange(parsed.name, "")});
  }
  return parsed;
}

bool MatchesFields(const Json& object, const std::vector<FieldTerm>& fields) {
  return std::all_of(fields.begin(), fields.end(), [&](const FieldTerm& term) {
    return (FieldText(object, term.field) == term.value) != term.is_negated;
  });
}

}  // namespace patchbay::api_sim
