#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "kube/api_request.h"

namespace patchbay {

/// Shapes of a watch (k8s.io/apimachinery pkg/watch, pkg/apis/meta/v1) and their parsers. Pure.
/// A resource version is opaque; it is checked only for being short and printable.

enum class WatchEventType { kAdded, kModified, kDeleted };

/// A change of one object.
struct WatchEvent {
  WatchEventType type = WatchEventType::kAdded;
  nlohmann::json object;         ///< untrusted
  std::string resource_version;  ///< of the object; for a deletion, of the deletion
  bool operator==(const WatchEvent&) const = default;
};

/// The resource version up to which all changes have been sent.
struct WatchBookmark {
  std::string resource_version;
  bool operator==(const WatchBookmark&) const = default;
};

/// One line of a watch: a change, a bookmark, or the error that ends the watch.
using WatchLine = std::variant<WatchEvent, WatchBookmark, ApiError>;

/// Parses a line. Fails with kInvalid if it is not a valid event, or of an unknown type.
Result<WatchLine> ParseWatchLine(std::string_view line);

/// A response to LIST.
struct ListPage {
  std::vector<nlohmann::json> objects;  ///< untrusted; each is an object
  std::string resource_version;
  std::string next;  ///< the value of "continue" for the next page; empty after the last
};

/// Parses the body of a response to LIST. Fails with kInvalid if it is not a valid list, or has
/// more than `max_objects`.
Result<ListPage> ParseListPage(std::string_view body, std::size_t max_objects);

}  // namespace patchbay
