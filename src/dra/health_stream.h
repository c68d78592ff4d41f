#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "dra/driver_observer.h"
#include "dra/health_list.h"
#include "rpc/server_call.h"

namespace patchbay {

/// The maximum number of open health streams of one server. The kubelet has one; the others are for
/// debugging.
inline constexpr std::size_t kMaxHealthStreams = 16;
/// The kubelet regards a device as unknown if it was not in a list for 30 seconds, so the list is
/// sent again after this time.
inline constexpr std::chrono::seconds kHealthResendInterval{10};

/// The NodeWatchResources streams of one server, of both versions, at most kMaxHealthStreams. Each
/// stream sends the latest complete list at its own speed: a slow reader can miss lists, but not
/// the latest one, and needs memory for only one message. Further streams are rejected with
/// RESOURCE_EXHAUSTED; open ones remain.
///
/// Thread-safe. Close before destroying; it must outlive the server whose calls it answers.
class HealthStreams {
 public:
  explicit HealthStreams(std::shared_ptr<DriverObserver> observer)
      : observer_(std::move(observer)) {}
  /// The last streams may have ended on another thread just before: their changes are seen here.
  ~HealthStreams() { const std::lock_guard lock(mutex_); }

  /// Opens a stream for a call of one version, whose message is `Response`. It immediately sends
  /// the last offered list, or waits for the first one.
  template <class Response>
  void Open(ServerCall& call);

  /// Sends a list on every stream.
  void Offer(std::shared_ptr<const HealthList> list);

  /// Sends the last list again on every stream, so that its devices do not become unknown.
  void Resend();

  /// Ends all streams, and immediately ends streams that are opened later.
  void Close();

 private:
  class Stream;
  template <class Response>
  class StreamOf;
  void Remove(Stream* stream);

  const std::shared_ptr<DriverObserver> observer_;
  std::mutex mutex_;
  std::shared_ptr<const HealthList> offered_;  ///< the latest
  std::set<Stream*> streams_;
  bool closed_ = false;
};

}  // namespace patchbay
