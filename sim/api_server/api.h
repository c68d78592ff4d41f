#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "sim/api_server/api_error.h"
#include "sim/api_server/features.h"
#include "sim/api_server/object_store.h"
#include "sim/api_server/request.h"

namespace patchbay::api_sim {

/// A response of the server in JSON, except to a watch.
struct HttpResponse {
  int status = 200;
  std::string body;
  std::optional<std::chrono::seconds> retry_after = {};
};

/// Returns the response with the Status object of an error.
HttpResponse ErrorResponse(const ApiError& error);

/// A watch, from the version after which it reports changes.
struct WatchCursor {
  ObjectRequest request;
  std::uint64_t version = 0;
  bool needs_current_objects = false;  ///< reports the stored objects as ADDED first
  std::optional<ApiError> error = {};  ///< is reported as an ERROR event, which ends the watch
  bool has_ended = false;              ///< there are no more events
};

/// The way in which the server reports that the version of a new watch was compacted.
enum class ExpiredWatch {
  kErrorEvent,  ///< 200, and an ERROR event with code 410, as the watch cache does
  kHttpStatus,  ///< 410
};

/// The API: the store and the rules of the server. It does what a request asks for and returns the
/// response, without connections, tokens and faults. Pure: time is an argument, and random numbers
/// have a constant seed. Not thread-safe.
///
/// It knows what Patchbay, its tests and `patchbay try` use. Differences from the real server are
/// errors, as for PATCH, subresources and label selectors, or what a node-local driver does not
/// notice: no managed fields, no discovery, quantities keep their form ("1000m" stays "1000m"), and
/// only nodes are owners of other objects.
class Api {
 public:
  using Time = std::chrono::system_clock::time_point;

  explicit Api(ApiProfile profile = ApiProfile::k1_36) : profile_(profile) {}

  /// Handles any request except a watch.
  HttpResponse Handle(const HttpRequest& request, Time now);

  /// Starts a watch. Fails with 410 if its version was compacted and this is reported so.
  ApiResult<WatchCursor> OpenWatch(const ObjectRequest& request) const;
  /// Returns the events of a watch that have not been returned yet, each one line of JSON that ends
  /// with a newline, and moves the cursor.
  std::vector<std::string> Read(WatchCursor& cursor) const;
  /// Returns a BOOKMARK event with the version of the cursor.
  static std::string Bookmark(const WatchCursor& cursor);

  /// Allocates devices to a claim for a pod on a node, see allocator.h, and writes its status.
  /// Keeps an allocation that the claim has. Fails with kNotFound if the claim does not exist, and
  /// otherwise like Allocate of allocator.h. The devices are free again when the claim is deleted.
  Status AllocateClaim(const std::string& namespace_name, const std::string& name,
                       const std::string& node);

  const ObjectStore& store() const { return store_; }
  /// Drops the history of changes: watches that are behind and pages of older lists expire.
  void Compact() { store_.Compact(); }
  void SetExpiredWatch(ExpiredWatch form) { expired_watch_ = form; }
  /// Changes the release, as an upgrade of the server does. Stored objects stay as they are.
  void SetProfile(ApiProfile profile) { profile_ = profile; }

 private:
  ApiResult<HttpResponse> Perform(const ObjectRequest& request, const HttpRequest& http, Time now);
  ApiResult<HttpResponse> List(const ObjectRequest& request) const;
  ApiResult<HttpResponse> Create(const ObjectRequest& request, const HttpRequest& http, Time now);
  ApiResult<HttpResponse> Update(const ObjectRequest& request, const HttpRequest& http, Time now);
  ApiResult<HttpResponse> Delete(const ObjectRequest& request, const HttpRequest& http);
  HttpResponse DeleteCollection(const ObjectRequest& request);

  /// Removes an object, and what only it owned, as the garbage collector does.
  void Remove(const ObjectKey& key);
  std::string GenerateName(const std::string& prefix);
  std::string NewUid();

  ApiProfile profile_;
  std::mt19937_64 random_{1};
  ObjectStore store_{10'000};
  ExpiredWatch expired_watch_ = ExpiredWatch::kErrorEvent;
};

}  // namespace patchbay::api_sim
