#include <utility>

#include "api_server_sim/api.h"
#include "api_server_sim/api_text.h"
#include "base/format.h"

namespace patchbay::api_sim {
namespace {

constexpr std::string_view kChangeNames[] = {"ADDED", "MODIFIED", "DELETED"};

std::string EventLine(std::string_view type, const std::string& object) {
  return Format(R"({{"type":"{}","object":{}}})"
                "\n",
                type, object);
}

bool Selects(const WatchCursor& cursor, const ObjectKey& key, const Json& object) {
  return key.kind == cursor.kind->kind &&
         (cursor.namespace_name.empty() || cursor.namespace_name == key.namespace_name) &&
         MatchesFields(object, cursor.fields);
}

ApiError TooOld(std::uint64_t version, std::uint64_t oldest) {
  return ErrorFor(410, Format("too old resource version: {} ({})", version, oldest));
}

}  // namespace

ApiResult<WatchCursor> Api::OpenWatch(const ObjectRequest& request) const {
  WatchCursor cursor{.kind = request.kind,
                     .namespace_name = request.namespace_name,
                     .fields = request.options.fields,
                     .version = request.options.resource_version.value_or(0)};
  if (cursor.version == 0) {
    cursor.needs_current_objects = true;
  } else if (cursor.version < store_.oldest_version()) {
    ApiError error = TooOld(cursor.version, store_.oldest_version());
    if (expired_watch_ == ExpiredWatch::kHttpStatus) return ApiFailure(std::move(error));
    cursor.error = std::move(error);
  } else if (cursor.version > store_.version()) {
    cursor.error = ErrorFor(504, Format("Too large resource version: {}, current: {}",
                                        cursor.version, store_.version()));
  }
  return cursor;
}

WatchEvents Api::Read(WatchCursor& cursor) const {
  if (cursor.has_ended) return {{}, true};
  if (!cursor.error && !cursor.needs_current_objects && cursor.version < store_.oldest_version()) {
    cursor.error = TooOld(cursor.version, store_.oldest_version());
  }
  if (cursor.error) {
    cursor.has_ended = true;
    return {{EventLine("ERROR", Dump(StatusOf(*cursor.error)))}, true};
  }
  WatchEvents events;
  if (std::exchange(cursor.needs_current_objects, false)) {
    for (const auto& [key, object] : store_.List(cursor.kind->kind)) {
      if (Selects(cursor, key, *object)) events.lines.push_back(EventLine("ADDED", Dump(*object)));
    }
  } else {
    for (const Change* change : store_.ChangesAfter(cursor.version)) {
      if (!Selects(cursor, change->key, *change->object)) continue;
      events.lines.push_back(
          EventLine(kChangeNames[static_cast<std::size_t>(change->type)], Dump(*change->object)));
    }
  }
  cursor.version = store_.version();
  return events;
}

std::string Api::Bookmark(const WatchCursor& cursor) {
  return EventLine("BOOKMARK",
                   Dump({{"kind", cursor.kind->name},
                         {"apiVersion", cursor.kind->ApiVersion()},
                         {"metadata", {{"resourceVersion", std::to_string(cursor.version)}}}}));
}

}  // namespace patchbay::api_sim
