// Each write follows the order of the real server: decode and drop unknown fields, set defaults,
// drop the fields of disabled features, compare versions, validate, store. An update that changes
// nothing is not a change: it keeps the version, and watches do not see it. A dry run ends before
// the store changes: its response has no version for a new object, and the stored one for others.

#include "api_server_sim/api.h"

#include <algorithm>
#include <utility>

#include "api_server_sim/api_text.h"
#include "api_server_sim/field_errors.h"
#include "api_server_sim/shapes.h"
#include "api_server_sim/validation.h"
#include "base/format.h"

namespace patchbay::api_sim {
namespace {

/// Generated names have five random characters of this alphabet, after at most 58 bytes of the
/// prefix.
constexpr std::string_view kNameAlphabet = "bcdfghjklmnpqrstvwxz2456789";
constexpr std::size_t kMaxGeneratedPrefix = 58;
constexpr int kGeneratedCharacters = 5;
constexpr int kMaxNameAttempts = 8;

constexpr std::string_view kModified =
    "the object has been modified; please apply your changes to the latest version and try again";

ObjectKey KeyOf(const ObjectRequest& request) {
  return {request.kind->kind, request.namespace_name, request.name};
}

std::string_view UidOf(const Json& object) { return Text(Member(object, "metadata"), "uid"); }

std::string_view VersionOf(const Json& object) {
  return Text(Member(object, "metadata"), "resourceVersion");
}

bool IsMarked(const Json& object) {
  return Member(object, "metadata").contains("deletionTimestamp");
}

/// Returns an object as a DELETE marks it while it has finalizers.
Json Marked(Json object, Api::Time now) {
  if (IsMarked(object)) return object;
  object["metadata"]["deletionTimestamp"] = ApiTime(now);
  object["metadata"]["deletionGracePeriodSeconds"] = 0;
  return object;
}

bool HasFinalizers(const Json& object) { return Member(object, "metadata").contains("finalizers"); }

bool IsInScope(const ObjectKey& key, const ObjectRequest& request) {
  return request.namespace_name.empty() || key.namespace_name == request.namespace_name;
}

/// Compares the preconditions of a DELETE with the object.
ApiResult<void> CheckPreconditions(const KindInfo& kind, const std::string& name,
                                   const Json& object, const Json& options) {
  const Json& preconditions = Member(options, "preconditions");
  const auto check = [&](const char* field, std::string_view text, std::string_view actual,
                         std::string_view cause) -> ApiResult<void> {
    if (!preconditions.contains(field) || Text(preconditions, field) == actual) return {};
    return Conflict(kind, name,
                    Format("the {} in the precondition ({}) does not match the {} in record ({}). "
                           "The object might have been {}",
                           text, Text(preconditions, field), text, actual, cause));
  };
  auto checked = check("uid", "UID", UidOf(object), "deleted and then recreated");
  if (!checked) return checked;
  return check("resourceVersion", "ResourceVersion", VersionOf(object), "modified");
}

Json DeletedStatus(const KindInfo& kind, const std::string& name, const Json& object) {
  return {{"kind", "Status"},
          {"apiVersion", "v1"},
          {"metadata", Json::object()},
          {"status", "Success"},
          {"details",
           {{"name", name}, {"group", kind.group}, {"kind", kind.plural}, {"uid", UidOf(object)}}}};
}

ApiFailure TooLargeVersion(std::uint64_t requested, std::uint64_t current) {
  ApiError error =
      ErrorFor(504, Format("Too large resource version: {}, current: {}", requested, current));
  error.causes = {{"ResourceVersionTooLarge", "Too large resource version"}};
  error.retry_after = std::chrono::seconds(1);
  return ApiFailure(std::move(error));
}

/// Keeps the parts of the stored object that an update of the object or of its status cannot
/// change.
void KeepStoredParts(const ObjectRequest& request, const Json& stored, Json& object) {
  Json metadata = request.is_status ? stored["metadata"] : object["metadata"];
  for (const char* field : {"uid", "creationTimestamp", "generation", "deletionTimestamp",
                            "deletionGracePeriodSeconds", "generateName", "resourceVersion"}) {
    const Json& value = Member(stored["metadata"], field);
    if (value.is_null()) {
      metadata.erase(field);
    } else {
      metadata[field] = value;
    }
  }
  object["metadata"] = std::move(metadata);
  if (!request.kind->has_status) return;
  const char* const kept = request.is_status ? "spec" : "status";
  object.erase(kept);
  if (stored.contains(kept)) object[kept] = stored[kept];
}

void AppendItem(std::string& body, const Json& object) {
  if (!body.ends_with('[')) body.push_back(',');
  body += Dump(object);
}

}  // namespace

HttpResponse Api::Handle(const HttpRequest& request, Time now) {
  if (request.method == "GET") {
    const std::string path = request.target.substr(0, request.target.find('?'));
    if (auto response = DiscoveryResponse(path, options_.profile)) return *std::move(response);
  }
  const auto parsed = ParseRequest(request);
  if (!parsed) return ErrorResponse(parsed.error());
  auto response = Handle(*parsed, request, now);
  return response ? *std::move(response) : ErrorResponse(response.error());
}

ApiResult<HttpResponse> Api::Handle(const ObjectRequest& request, const HttpRequest& http,
                                    Time now) {
  switch (request.verb) {
    case Verb::kGet: return Get(request);
    case Verb::kList: return List(request);
    case Verb::kCreate: return Create(request, http, now);
    case Verb::kUpdate: return Update(request, http, now);
    case Verb::kDelete: return Delete(request, now);
    case Verb::kDeleteCollection: return DeleteCollection(request, now);
    case Verb::kWatch: break;
  }
  return BadRequest("a watch is not answered at once");
}

ApiResult<HttpResponse> Api::Get(const ObjectRequest& request) const {
  const Object object = store_.Find(KeyOf(request));
  if (!object) return NotFound(*request.kind, request.name);
  return JsonResponse(*object);
}

ApiResult<HttpResponse> Api::List(const ObjectRequest& request) const {
  const RequestOptions& options = request.options;
  std::uint64_t version = store_.version();
  ObjectKey after{request.kind->kind, "", ""};
  if (!options.continue_token.empty()) {
    const auto token = DecodeContinueToken(options.continue_token);
    if (!token) return ApiFailure(token.error());
    version = token->version;
    after = {request.kind->kind, token->namespace_name, token->name};
  } else if (options.resource_version.value_or(0) > version) {
    return TooLargeVersion(*options.resource_version, version);
  } else if (options.is_exact_version && options.resource_version) {
    version = *options.resource_version;
  }
  if (version < store_.oldest_version() || version > store_.version()) {
    return Expired(
        "The provided continue parameter is too old to display a consistent list result. "
        "You must start a new list without the continue parameter.");
  }
  const auto objects = store_.ListAt(request.kind->kind, version);
  std::string items = "[";
  std::size_t count = 0, remaining = 0;
  ObjectKey last;
  for (auto next = objects.upper_bound(after); next != objects.end(); ++next) {
    const auto& [key, object] = *next;
    if (!IsInScope(key, request) || !MatchesFields(*object, options.fields)) continue;
    if (options.limit > 0 && count == options.limit) {
      ++remaining;
      continue;
    }
    AppendItem(items, *object);
    last = key;
    ++count;
  }
  Json metadata{{"resourceVersion", std::to_string(version)}};
  if (remaining > 0) {
    metadata["continue"] = EncodeContinueToken({version, last.namespace_name, last.name});
    // The real server cannot count what a selector would leave.
    if (options.fields.empty()) metadata["remainingItemCount"] = remaining;
  }
  return HttpResponse{
      .body = Format(R"({{"kind":"{}List","apiVersion":"{}","metadata":{},"items":{}]}})",
                     request.kind->name, request.kind->ApiVersion(), Dump(metadata), items)};
}

ApiResult<Json> Api::ReadObject(const ObjectRequest& request, const HttpRequest& http,
                                Time now) const {
  const KindInfo& kind = *request.kind;
  const auto body = ParseBody(http.body);
  if (!body) return ApiFailure(body.error());
  auto object = Decode(*body, kind);
  if (!object) return object;
  const std::string_view version = Text(*object, "apiVersion"), name = Text(*object, "kind");
  if ((!version.empty() && version != kind.ApiVersion()) || (!name.empty() && name != kind.name)) {
    return BadRequest(
        Format("{} in version {} cannot be handled as a {}", Dump(name), Dump(version), kind.name));
  }
  (*object)["apiVersion"] = kind.ApiVersion();
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
  const bool is_generated = key.name.empty() && metadata.contains("generateName");
  if (is_generated) {
    const std::string prefix(Text(metadata, "generateName"));
    for (int i = 0; i < kMaxNameAttempts && (key.name.empty() || store_.Find(key)); ++i) {
      key.name = GenerateName(prefix);
    }
    metadata["name"] = key.name;
  }
  metadata["uid"] = NewUid();
  metadata["creationTimestamp"] = ApiTime(now);
  if (kind.kind != Kind::kNode) metadata["generation"] = 1;
  metadata.erase("deletionTimestamp");
  metadata.erase("deletionGracePeriodSeconds");
  if (kind.kind == Kind::kResourceClaim) object->erase("status");
  DropDisabledFields(kind.kind, *object, nullptr, Features());
  if (auto causes = Validate(kind, *object, nullptr); !causes.empty()) {
    return Invalid(kind, key.name, std::move(causes));
  }
  if (store_.Find(key)) return AlreadyExists(kind, key.name);
  if (request.options.is_dry_run) return JsonResponse(*object, 201);
  return JsonResponse(*store_.Put(key, *std::move(object)), 201);
}

ApiResult<HttpResponse> Api::Update(const ObjectRequest& request, const HttpRequest& http,
                                    Time now) {
  const KindInfo& kind = *request.kind;
  auto object = ReadObject(request, http, now);
  if (!object) return ApiFailure(object.error());
  const Json& submitted = Member(*object, "metadata");
  const std::string_view name = Text(submitted, "name");
  if (name != request.name) {
    return BadRequest(Format("the name of the object ({}) does not match the name on the URL ({})",
                             name, request.name));
  }
  const ObjectKey key = KeyOf(request);
  const Object stored = store_.Find(key);
  if (!stored) return NotFound(kind, request.name);
  if (const std::string_view uid = Text(submitted, "uid"); !uid.empty() && uid != UidOf(*stored)) {
    return Conflict(kind, request.name,
                    Format("Precondition failed: UID in precondition: {}, UID in object meta: {}",
                           uid, UidOf(*stored)));
  }
  const std::string_view version = VersionOf(*object);
  // All of these kinds can be updated without a version.
  if (!version.empty() && version != VersionOf(*stored)) {
    return Conflict(kind, request.name, kModified);
  }
  KeepStoredParts(request, *stored, *object);
  DropDisabledFields(kind.kind, *object, stored.get(), Features());
  const WriteTarget target = request.is_status ? WriteTarget::kStatus : WriteTarget::kObject;
  if (auto causes = Validate(kind, *object, stored.get(), target); !causes.empty()) {
    return Invalid(kind, request.name, std::move(causes));
  }
  if (*object == *stored) return JsonResponse(*stored);
  Json& metadata = (*object)["metadata"];
  if (metadata.contains("generation") && Member(*object, "spec") != Member(*stored, "spec")) {
    metadata["generation"] = metadata["generation"].get<std::int64_t>() + 1;
  }
  if (request.options.is_dry_run) return JsonResponse(*object);
  if (IsMarked(*object) && !HasFinalizers(*object)) {
    const Object removed = store_.Remove(key);
    CollectGarbage(std::string(UidOf(*removed)), now);
    return JsonResponse(*removed);
  }
  return JsonResponse(*store_.Put(key, *std::move(object)));
}

Object Api::RemoveOrMark(const ObjectKey& key, Time now) {
  Object object = store_.Find(key);
  if (!HasFinalizers(*object)) {
    Object removed = store_.Remove(key);
    CollectGarbage(std::string(UidOf(*removed)), now);
    return removed;
  }
  return IsMarked(*object) ? object : store_.Put(key, Marked(*object, now));
}

void Api::CollectGarbage(const std::string& owner_uid, Time now) {
  for (const KindInfo& kind : AllKinds()) {
    for (const auto& [key, object] : store_.List(kind.kind)) {
      const Json& owners = Member(Member(*object, "metadata"), "ownerReferences");
      const bool is_orphan =
          !owners.empty() && std::all_of(owners.begin(), owners.end(), [&](const Json& owner) {
            return Text(owner, "uid") == owner_uid;
          });
      if (is_orphan && store_.Find(key)) RemoveOrMark(key, now);
    }
  }
}

ApiResult<HttpResponse> Api::Delete(const ObjectRequest& request, Time now) {
  const KindInfo& kind = *request.kind;
  const ObjectKey key = KeyOf(request);
  const Object object = store_.Find(key);
  if (!object) return NotFound(kind, request.name);
  if (auto checked = CheckPreconditions(kind, request.name, *object, request.delete_options);
      !checked) {
    return ApiFailure(checked.error());
  }
  if (request.options.is_dry_run) {
    return JsonResponse(HasFinalizers(*object) ? Marked(*object, now)
                                               : DeletedStatus(kind, request.name, *object));
  }
  const Object last = RemoveOrMark(key, now);
  return JsonResponse(store_.Find(key) ? *last : DeletedStatus(kind, request.name, *last));
}

ApiResult<HttpResponse> Api::DeleteCollection(const ObjectRequest& request, Time now) {
  auto list = List(request);
  if (!list || request.options.is_dry_run) return list;
  for (const auto& [key, object] : store_.List(request.kind->kind)) {
    // An object can have been removed with its owner.
    const bool is_selected =
        IsInScope(key, request) && MatchesFields(*object, request.options.fields);
    if (is_selected && store_.Find(key)) RemoveOrMark(key, now);
  }
  return list;
}

void Api::SetProfile(ApiProfile profile) {
  options_.profile = profile;
  options_.features.reset();
}

}  // namespace patchbay::api_sim
