// Each write follows the order of the real server: decode and drop unknown fields, set defaults,
// drop the fields of disabled features, compare versions, validate, store. An update that changes
// nothing is not a change: it keeps the version, and watches do not see it. A dry run ends before
// the store changes: its response has no version.

#include "sim/api_server/api.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/format.h"
#include "base/utc_text.h"
#include "sim/api_server/allocator.h"
#include "sim/api_server/field_errors.h"
#include "sim/api_server/shapes.h"
#include "sim/api_server/validation.h"

namespace patchbay::api_sim {
namespace {

/// Generated names have five random characters of this alphabet, after at most 58 bytes of the
/// prefix.
constexpr std::string_view kNameAlphabet = "bcdfghjklmnpqrstvwxz2456789";
constexpr std::size_t kMaxGeneratedPrefix = 58;
constexpr int kGeneratedCharacters = 5;
constexpr int kMaxNameAttempts = 8;

ObjectKey KeyOf(const ObjectRequest& request) {
  return {request.kind->kind, request.namespace_name, request.name};
}

HttpResponse JsonResponse(const Json& body, int status = 200) { return {status, Dump(body)}; }

HttpResponse Success() {
  return JsonResponse({{"kind", "Status"}, {"apiVersion", "v1"}, {"status", "Success"}});
}

/// "2026-01-31T12:00:00Z"
std::string ApiTime(Api::Time time) {
  // Without the milliseconds of "2026-01-31T12:00:00.000Z".
  return UtcText(time).substr(0, 19) + "Z";
}

/// A position in a list: its version, and the last object that was returned. The token is opaque to
/// clients; the real one is base64.
std::string ContinueToken(std::uint64_t version, const ObjectKey& last) {
  return Format("{}/{}/{}", version, last.namespace_name, last.name);
}

/// Sets version and key from a token. Returns whether it is valid.
bool ReadContinueToken(std::string_view token, std::uint64_t& version, ObjectKey& last) {
  const char* const end = token.data() + token.size();
  const auto [stop, problem] = std::from_chars(token.data(), end, version);
  if (problem != std::errc() || stop == end || *stop != '/') return false;
  const std::string_view rest(stop + 1, end);
  const std::size_t slash = rest.find('/');
  if (slash == std::string_view::npos) return false;
  last.namespace_name = rest.substr(0, slash);
  last.name = rest.substr(slash + 1);
  return true;
}

/// Decodes the object in the body of a creation or an update, and sets its defaults.
ApiResult<Json> ReadObject(const ObjectRequest& request, const HttpRequest& http, Api::Time now) {
  const KindInfo& kind = *request.kind;
  const auto body = ParseBody(http.body);
  if (!body) return ApiFailure(body.error());
  auto object = Decode(*body, kind);
  if (!object) return object;
  const std::string_view version = Text(*object, "apiVersion"), name = Text(*object, "kind");
  if ((!version.empty() && version != kind.api_version) || (!name.empty() && name != kind.name)) {
    return BadRequest(
        Format("{} in version {} cannot be handled as a {}", Dump(name), Dump(version), kind.name));
  }
  (*object)["apiVersion"] = kind.api_version;
  (*object)["kind"] = kind.name;
  Json& metadata = (*object)["metadata"];
  if (metadata.is_null()) metadata = Json::object();
  if (kind.is_namespaced) {
    if (!metadata.contains("namespace")) metadata["namespace"] = request.namespace_name;
    if (metadata["namespace"] != request.namespace_name) {
      return BadRequest(
          "the namespace of the provided object does not match the namespace sent on "
          "the request");
    }
  }
  SetDefaults(kind.kind, *object, ApiTime(now));
  return object;
}

std::string EventLine(std::string_view type, const std::string& object) {
  return Format(R"({{"type":"{}","object":{}}})"
                "\n",
                type, object);
}

ApiError TooOld(std::uint64_t version, std::uint64_t oldest) {
  return ErrorFor(410, Format("too old resource version: {} ({})", version, oldest));
}

}  // namespace

HttpResponse ErrorResponse(const ApiError& error) {
  HttpResponse response = JsonResponse(StatusOf(error), error.code);
  response.retry_after = error.retry_after;
  return response;
}

HttpResponse Api::Handle(const HttpRequest& request, Time now) {
  const auto parsed = ParseRequest(request);
  if (!parsed) return ErrorResponse(parsed.error());
  auto response = Perform(*parsed, request, now);
  return response ? *std::move(response) : ErrorResponse(response.error());
}

ApiResult<HttpResponse> Api::Perform(const ObjectRequest& request, const HttpRequest& http,
                                     Time now) {
  switch (request.verb) {
    case Verb::kGet: break;
    case Verb::kList: return List(request);
    case Verb::kCreate: return Create(request, http, now);
    case Verb::kUpdate: return Update(request, http, now);
    case Verb::kDelete: return Delete(request, http);
    case Verb::kDeleteCollection: return DeleteCollection(request);
    case Verb::kWatch: return BadRequest("a watch is not answered at once");
  }
  const Object object = store_.Find(KeyOf(request));
  if (!object) return NotFound(*request.kind, request.name);
  return JsonResponse(*object);
}

ApiResult<HttpResponse> Api::List(const ObjectRequest& request) const {
  if (request.resource_version != 0) {
    return BadRequest("the built-in API server does not support resourceVersion of a list");
  }
  std::uint64_t version = store_.version();
  ObjectKey last{request.kind->kind};
  if (!request.continue_token.empty() &&
      !ReadContinueToken(request.continue_token, version, last)) {
    return BadRequest("continue key is not valid");
  }
  if (version < store_.oldest_version() || version > store_.version()) {
    return Expired(
        "The provided continue parameter is too old to display a consistent list result. "
        "You must start a new list without the continue parameter.");
  }
  Json metadata{{"resourceVersion", std::to_string(version)}};
  std::string items;
  std::size_t count = 0;
  const ObjectKey after = last;
  store_.VisitAfter(after, version, [&](const ObjectKey& key, const Object& object) {
    if (!Selects(request, key.namespace_name, *object)) return true;
    if (request.limit > 0 && count == request.limit) {
      metadata["continue"] = ContinueToken(version, last);
      return false;
    }
    items += (count++ == 0 ? "" : ",") + Dump(*object);
    last = key;
    return true;
  });
  return HttpResponse{
      .body = Format(R"({{"kind":"{}List","apiVersion":"{}","metadata":{},"items":[{}]}})",
                     request.kind->name, request.kind->api_version, Dump(metadata), items)};
}

std::string Api::GenerateName(const std::string& prefix) {
  std::string name = prefix.substr(0, kMaxGeneratedPrefix);
  std::uniform_int_distribution<std::size_t> any(0, kNameAlphabet.size() - 1);
  for (int i = 0; i < kGeneratedCharacters; ++i) name.push_back(kNameAlphabet[any(random_)]);
  return name;
}

std::string Api::NewUid() {
  const std::uint64_t high = random_(), low = random_();
  return Format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xffff,
                high & 0xfff, 0x8000 | ((low >> 48) & 0x3fff), low & 0xffff'ffff'ffff);
}

ApiResult<HttpResponse> Api::Create(const ObjectRequest& request, const HttpRequest& http,
                                    Time now) {
  const KindInfo& kind = *request.kind;
  auto object = ReadObject(request, http, now);
  if (!object) return ApiFailure(object.error());
  Json& metadata = (*object)["metadata"];
  if (metadata.contains("resourceVersion")) {
    return BadRequest("resourceVersion should not be set on objects to be created");
  }
  ObjectKey key{kind.kind, request.namespace_name, std::string(Text(metadata, "name"))};
  if (key.name.empty() && metadata.contains("generateName")) {
    const std::string prefix(Text(metadata, "generateName"));
    for (int i = 0; i < kMaxNameAttempts && (key.name.empty() || store_.Find(key)); ++i) {
      key.name = GenerateName(prefix);
    }
    metadata["name"] = key.name;
  }
  metadata["uid"] = NewUid();
  metadata["creationTimestamp"] = ApiTime(now);
  if (kind.kind != Kind::kNode) metadata["generation"] = 1;
  DropDisabledFields(kind.kind, *object, nullptr, profile_);
  if (const auto errors = Validate(kind, *object, nullptr); !errors.empty()) {
    return Invalid(kind, key.name, errors);
  }
  if (store_.Find(key)) return AlreadyExists(kind, key.name);
  if (request.is_dry_run) return JsonResponse(*object, 201);
  return JsonResponse(*store_.Put(key, *std::move(object)), 201);
}

ApiResult<HttpResponse> Api::Update(const ObjectRequest& request, const HttpRequest& http,
                                    Time now) {
  const KindInfo& kind = *request.kind;
  auto object = ReadObject(request, http, now);
  if (!object) return ApiFailure(object.error());
  Json& metadata = (*object)["metadata"];
  if (Text(metadata, "name") != request.name) {
    return BadRequest(Format("the name of the object ({}) does not match the name on the URL ({})",
                             Text(metadata, "name"), request.name));
  }
  const ObjectKey key = KeyOf(request);
  const Object stored = store_.Find(key);
  if (!stored) return NotFound(kind, request.name);
  const Json& of_stored = (*stored)["metadata"];
  // An update without them concerns any object of the name, in any version.
  for (const char* field : {"uid", "resourceVersion"}) {
    if (!metadata.contains(field) || metadata[field] == of_stored[field]) continue;
    return Conflict(kind, request.name,
                    "the object has been modified; please apply your changes to the latest version "
                    "and try again");
  }
  for (const char* field :
       {"uid", "creationTimestamp", "generation", "generateName", "resourceVersion"}) {
    metadata.erase(field);
    if (of_stored.contains(field)) metadata[field] = of_stored[field];
  }
  DropDisabledFields(kind.kind, *object, stored.get(), profile_);
  if (const auto errors = Validate(kind, *object, stored.get()); !errors.empty()) {
    return Invalid(kind, request.name, errors);
  }
  if (*object == *stored) return JsonResponse(*stored);
  if (Member(*object, "spec") != Member(*stored, "spec")) {
    metadata["generation"] = metadata["generation"].get<std::int64_t>() + 1;
  }
  return JsonResponse(*store_.Put(key, *std::move(object)));
}

void Api::Remove(const ObjectKey& key) {
  const Object removed = store_.Remove(key);
  if (key.kind != Kind::kNode) return;
  const std::string_view uid = Text((*removed)["metadata"], "uid");
  for (const auto& [owned, object] : store_.List(Kind::kResourceSlice)) {
    const Json& owners = Member((*object)["metadata"], "ownerReferences");
    const bool is_orphan = !owners.empty() && std::ranges::all_of(owners, [&](const Json& owner) {
      return Text(owner, "uid") == uid;
    });
    if (is_orphan) store_.Remove(owned);
  }
}

ApiResult<HttpResponse> Api::Delete(const ObjectRequest& request, const HttpRequest& http) {
  const Object object = store_.Find(KeyOf(request));
  if (!object) return NotFound(*request.kind, request.name);
  if (!http.body.empty()) {
    const auto options = ParseBody(http.body);
    if (!options) return ApiFailure(options.error());
    for (const auto& [field, wanted] : Member(*options, "preconditions").items()) {
      const Json& actual = Member((*object)["metadata"], field);
      if (wanted == actual) continue;
      return Conflict(*request.kind, request.name,
                      Format("the {} in the precondition ({}) does not match the {} in record ({})",
                             field, Dump(wanted), field, Dump(actual)));
    }
  }
  Remove(KeyOf(request));
  return Success();
}

HttpResponse Api::DeleteCollection(const ObjectRequest& request) {
  for (const auto& [key, object] : store_.List(request.kind->kind)) {
    if (Selects(request, key.namespace_name, *object)) Remove(key);
  }
  return Success();
}

ApiResult<WatchCursor> Api::OpenWatch(const ObjectRequest& request) const {
  WatchCursor cursor{.request = request, .version = request.resource_version};
  if (cursor.version == 0) {
    cursor.needs_current_objects = true;
  } else if (cursor.version < store_.oldest_version()) {
    cursor.error = TooOld(cursor.version, store_.oldest_version());
    if (expired_watch_ == ExpiredWatch::kHttpStatus) return ApiFailure(*std::move(cursor.error));
  } else if (cursor.version > store_.version()) {
    cursor.error = ErrorFor(504, Format("Too large resource version: {}, current: {}",
                                        cursor.version, store_.version()));
  }
  return cursor;
}

std::vector<std::string> Api::Read(WatchCursor& cursor) const {
  std::vector<std::string> lines;
  if (cursor.has_ended) return lines;
  const ObjectRequest& request = cursor.request;
  if (!cursor.error && !cursor.needs_current_objects && cursor.version < store_.oldest_version()) {
    cursor.error = TooOld(cursor.version, store_.oldest_version());
  }
  if (cursor.error) {
    cursor.has_ended = true;
    lines.push_back(EventLine("ERROR", Dump(StatusOf(*cursor.error))));
    return lines;
  }
  const auto add = [&](std::string_view type, const ObjectKey& key, const Json& object) {
    if (key.kind != request.kind->kind || !Selects(request, key.namespace_name, object)) return;
    lines.push_back(EventLine(type, Dump(object)));
  };
  if (std::exchange(cursor.needs_current_objects, false)) {
    for (const auto& [key, object] : store_.List(request.kind->kind)) add("ADDED", key, *object);
  } else {
    constexpr std::string_view kTypes[] = {"ADDED", "MODIFIED", "DELETED"};
    for (const Change* change : store_.ChangesAfter(cursor.version)) {
      add(kTypes[static_cast<std::size_t>(change->type)], change->key, *change->object);
    }
  }
  cursor.version = store_.version();
  return lines;
}

std::string Api::Bookmark(const WatchCursor& cursor) {
  return EventLine("BOOKMARK",
                   Dump({{"kind", cursor.request.kind->name},
                         {"apiVersion", cursor.request.kind->api_version},
                         {"metadata", {{"resourceVersion", std::to_string(cursor.version)}}}}));
}

Status Api::AllocateClaim(const std::string& namespace_name, const std::string& name,
                          const std::string& node) {
  const ObjectKey key{Kind::kResourceClaim, namespace_name, name};
  const Object stored = store_.Find(key);
  if (!stored) {
    return Fail(ErrorKind::kNotFound, Format("resource claim {}/{} does not exist; create it first",
                                             namespace_name, name));
  }
  if (stored->contains("status")) return {};
  Json claim = *stored;
  claim["status"]["allocation"] = TRY(Allocate(claim, node, store_, [this] { return NewUid(); }));
  store_.Put(key, std::move(claim));
  return {};
}

}  // namespace patchbay::api_sim
