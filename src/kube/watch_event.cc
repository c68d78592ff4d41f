#include "kube/watch_event.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/ascii.h"
#include "base/escape.h"
#include "base/format.h"
#include "base/json_text.h"
#include "kube/api_status.h"

namespace patchbay {
namespace {

constexpr std::size_t kMaxVersionBytes = 64;
constexpr std::size_t kMaxTokenBytes = 4096;  // contains the key of an object

constexpr std::pair<std::string_view, WatchEventType> kEventTypes[] = {
    {"ADDED", WatchEventType::kAdded},
    {"MODIFIED", WatchEventType::kModified},
    {"DELETED", WatchEventType::kDeleted},
};

std::optional<std::string> Token(std::string_view value, std::size_t max_bytes) {
  auto text = TextOfJson(value, max_bytes);
  if (!text) return std::nullopt;
  const bool is_visible = std::ranges::all_of(*text, [](char c) { return c > ' ' && c < 0x7f; });
  return is_visible ? text : std::nullopt;
}

std::optional<std::vector<JsonMember>> Metadata(const std::vector<JsonMember>& object) {
  const std::string_view metadata = FindMember(object, "metadata");
  return metadata.empty() ? std::nullopt : MembersOfJson(metadata);
}

/// Returns metadata.resourceVersion of an object or a list.
std::optional<std::string> VersionOf(const std::vector<JsonMember>& object) {
  const auto metadata = Metadata(object);
  if (!metadata) return std::nullopt;
  auto version = Token(FindMember(*metadata, "resourceVersion"), kMaxVersionBytes);
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
  if (!IsJson(line)) return InvalidEvent("is not valid JSON");
  const auto event = MembersOfJson(line);
  if (!event) return InvalidEvent("is not a JSON object with unique keys");
  const auto type = TextOfJson(FindMember(*event, "type"), kMaxVersionBytes);
  const std::string_view object = FindMember(*event, "object");
  if (!type || object.empty()) return InvalidEvent("has no type or no object");
  if (*type == "ERROR") return ErrorOfEvent(object);
  const auto members = MembersOfJson(object);
  auto version = members ? VersionOf(*members) : std::nullopt;
  if (!version) return InvalidEvent("has an object without a valid metadata.resourceVersion");
  if (*type == "BOOKMARK") return WatchBookmark{*std::move(version)};
  const auto* known =
      std::ranges::find(kEventTypes, *type, [](const auto& row) { return row.first; });
  if (known == std::end(kEventTypes)) {
    return InvalidEvent(Format("has the unknown type \"{}\"", Truncate(*type, 20)));
  }
  return WatchEvent{known->second, std::string(object), *std::move(version)};
}

Result<ListPage> ParseListPage(std::string_view body, std::size_t max_objects) {
  if (!IsJson(body)) return InvalidList("is not valid JSON");
  const auto list = MembersOfJson(body);
  if (!list) return InvalidList("is not a JSON object with unique keys");
  auto version = VersionOf(*list);
  if (!version) return InvalidList("has no valid metadata.resourceVersion");
  ListPage page{.objects = {}, .resource_version = *std::move(version), .next = {}};
  const auto metadata = Metadata(*list);
  if (const std::string_view next = FindMember(*metadata, "continue"); !next.empty()) {
    auto token = Token(next, kMaxTokenBytes);
    if (!token) return InvalidList("has an invalid metadata.continue");
    page.next = *std::move(token);
  }
  const std::string_view items = FindMember(*list, "items");
  // The API server sends null for a list without items in some versions.
  if (items == "null") return page;
  const auto elements = items.empty() ? std::nullopt : ElementsOfJson(items, max_objects);
  if (!elements) return InvalidList(Format("has no items, or more than {}", max_objects));
  page.objects.reserve(elements->size());
  for (const std::string_view element : *elements) {
    if (!element.starts_with('{')) return InvalidList("has an item that is not an object");
    page.objects.emplace_back(element);
  }
  return page;
}

}  // namespace patchbay
