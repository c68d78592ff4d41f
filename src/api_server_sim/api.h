#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "api_server_sim/api_error.h"
#include "api_server_sim/features.h"
#include "api_server_sim/object_store.h"
#include "api_server_sim/request.h"

namespace patchbay::api_sim {

/// A response of the server, except to a watch.
struct HttpResponse {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  std::optional<std::chrono::seconds> retry_after = {};
};

/// Returns the response with the Status object of an error.
HttpResponse ErrorResponse(const ApiError& error);

/// A watch, from the version after which it reports changes.
struct WatchCursor {
  const KindInfo* kind = nullptr;
  std::string namespace_name;
  std::vector<FieldTerm> fields;
  std::uint64_t version = 0;
  bool needs_current_objects = false;  ///< reports the stored objects as ADDED first
  std::optional<ApiError> error = {};  ///< is reported as an ERROR event, which ends the watch
  bool has_ended = false;              ///< there are no more events
};

/// Events of a watch, each one line of JSON that ends with a newline.
struct WatchEvents {
  std::vector<std::string> lines;
  bool has_ended = false;  ///< the server closes the watch after these events
};

/// The way in which the server reports that the version of a new watch was compacted.
enum class ExpiredWatch {
  kErrorEvent,  ///< 200, and an ERROR event with code 410, as the watch cache does
  kHttpStatus,  ///< 410
};

struct ApiOptions {
  ApiProfile profile = ApiProfile::k1_36;
  std::optional<ApiFeatures> features = {};  ///< unset: those of the profile
  std::size_t max_history = 10'000;          ///< changes that watches can still read
  std::uint64_t seed = 1;                    ///< of UIDs and generated names
};

/// The API: the store and the rules of the server. It does what a request asks for and returns the
/// response, without connections, tokens and faults. Pure: time is an argument, and random numbers
/// come from the seed. Not thread-safe.
///
/// It differs from the real server where a node-local driver does not notice: no PATCH, no label
/// selectors, no managed fields, and quantities keep their form ("1000m" stays "1000m").
class Api {
 public:
  using Time = std::chrono::system_clock::time_point;

  explicit Api(const ApiOptions& options)
      : options_(options), random_(options.seed), store_(options.max_history) {}

  /// Handles any request except a watch. Includes discovery, /version and /readyz, so that kubectl
  /// can list objects.
  HttpResponse Handle(const HttpRequest& request, Time now);
  /// Handles a request for objects, except a watch.
  ApiResult<HttpResponse> Handle(const ObjectRequest& request, const HttpRequest& http, Time now);

  /// Starts a watch. Fails with 410 if its version was compacted and this is reported so.
  ApiResult<WatchCursor> OpenWatch(const ObjectRequest& request) const;
  /// Returns the events of a watch that have not been returned yet, and moves the cursor.
  WatchEvents Read(WatchCursor& cursor) const;
  /// Returns a BOOKMARK event with the version of the cursor.
  static std::string Bookmark(const WatchCursor& cursor);

  const ObjectStore& store() const { return store_; }
  /// Drops the history of changes: watches that are behind and pages of older lists expire.
  void Compact() { store_.Compact(); }
  void SetExpiredWatch(ExpiredWatch form) { expired_watch_ = form; }
  /// Changes the feature gates, as an upgrade of the server does. Stored objects stay as they are.
  void SetProfile(ApiProfile profile);
  void SetFeatures(const ApiFeatures& features) { options_.features = features; }

  /// Returns a random UUID.
  std::string NewUid();

 private:
  ApiFeatures Features() const { return options_.features.value_or(FeaturesOf(options_.profile)); }

  ApiResult<HttpResponse> Get(const ObjectRequest& request) const;
  ApiResult<HttpResponse> List(const ObjectRequest& request) const;
  ApiResult<HttpResponse> Create(const ObjectRequest& request, const HttpRequest& http, Time now);
  ApiResult<HttpResponse> Update(const ObjectRequest& request, const HttpRequest& http, Time now);
  ApiResult<HttpResponse> Delete(const ObjectRequest& request, Time now);
  ApiResult<HttpResponse> DeleteCollection(const ObjectRequest& request, Time now);

  ApiResult<Json> ReadObject(const ObjectRequest& request, const HttpRequest& http, Time now) const;
  /// Removes an object, which must exist, or only marks it as deleted while it has finalizers.
  /// Returns its last state.
  Object RemoveOrMark(const ObjectKey& key, Time now);
  /// Removes the objects that only the object with this UID owned, as the garbage collector does.
  void CollectGarbage(const std::string& owner_uid, Time now);
  std::string GenerateName(const std::string& prefix);

  ApiOptions options_;
  std::mt19937_64 random_;
  ObjectStore store_;
  ExpiredWatch expired_watch_ = ExpiredWatch::kErrorEvent;
};

}  // namespace patchbay::api_sim
