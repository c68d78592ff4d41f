#include "kube/watch_event.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/format.h"
#include "base/json.h"
#include "kube/api_status.h"

namespace patchbay {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxVersionBytes = 64;
constexpr std::size_t kMaxTokenBytes = 4096;  // contains the key of an object

constexpr std::pair<std::string_view, WatchEventType> kEventTypes[] = {
    {"ADDED", WatchEventType::kAdded},
    {"MODIFIED", WatchEventType::kModified},
    {"DELETED", WatchEventType::kDeleted},
};

/// Returns the text of a member; nothing if it is not a string of visible characters.
std::optional<std::string> Token(const Json& object, const char* key, std::size_t max_bytes) {
  auto text = TextMember(object, key, max_bytes);
  if (!text) return std::nullopt;
  const bool is_visible = std::ranges::all_of(*text, [](char c) { return c > ' ' && c < 0x7f; });
  return is_visible ? std::optional(*std::move(text)) : std::nullopt;
}

/// Returns the member "metadata" of an object or a list; null if there is none.
const Json& Metadata(const Json& object) {
  static const Json kNone;
  const auto metadata = object.find("metadata");
  return metadata == object.end() ? kNone : *metadata;
}

/// Returns metadata.resourceVersion of an object or a list.
std::optional<std::string> VersionOf(const Json& object) {
  auto version = Token(Metadata(object), "resourceVersion", kMaxVersionBytes);
  return version && !version->empty() ? version : std::nullopt;
}

Failure InvalidEvent(std::string_view problem) {
  return Fail(ErrorKind::kInvalid, Format("an event of the watch {}", problem));
}
Failure InvalidList(std::string_view problem) {
  return Fail(ErrorKind::kInvalid, Format("the list {}", problem));
}

}  // namespace

Result<WatchLine> ParseWatchLine(std::string_view line) {
  auto event = ParseJson(line, {.bytes = line.size()});
  if (!event) return InvalidEvent(event.error().message);
  const auto type = TextMember(*event, "type", kMaxVersionBytes);
  if (!type || type->empty() || !HasMember(*event, "object")) {
    return InvalidEvent("has no type or no object");
  }
  Json& object = (*event)["object"];
  if (*type == "ERROR") return ErrorOfEvent(object);
  auto version = VersionOf(object);
  if (!version) return InvalidEvent("has an object without a valid metadata.resourceVersion");
  if (*type == "BOOKMARK") return WatchBookmark{*std::move(version)};
  const auto* known =
      std::ranges::find(kEventTypes, *type, [](const auto& row) { return row.first; });
  if (known == std::end(kEventTypes)) {
    return InvalidEvent("has an unknown type");
  }
  return WatchEvent{known->second, std::move(object), *std::move(version)};
}

Result<ListPage> ParseListPage(std::string_view body, std::size_t max_objects) {
  auto list = ParseJson(body, {.bytes = body.size()});
  if (!list) return InvalidList(list.error().message);
  auto version = VersionOf(*list);
  if (!version) return InvalidList("has no valid metadata.resourceVersion");
  ListPage page{.objects = {}, .resource_version = *std::move(version), .next = {}};
  auto next = Token(Metadata(*list), "continue", kMaxTokenBytes);
  if (!next) return InvalidList("has an invalid metadata.continue");
  page.next = *std::move(next);
  // The API server sends null for a list without items in some versions.
  if (!list->contains("items")) return InvalidList("has no items");
  if (!ObjectsMember(*list, "items", max_objects)) {
    return InvalidList(Format("has items that are not at most {} objects", max_objects));
  }
  if (HasMember(*list, "items")) {
    page.objects = std::move((*list)["items"].get_ref<Json::array_t&>());
  }
  return page;
}

}  // namespace patchbay
