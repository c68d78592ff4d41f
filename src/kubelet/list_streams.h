#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "model/snapshot.h"
#include "rpc/server_call.h"
#include "status/observer.h"

namespace patchbay {

/// Maximum number of open streams of one server. The kubelet has one; the others are for debugging.
inline constexpr int kMaxStreams = 16;

/// The ListAndWatch streams of one server, at most kMaxStreams. Each stream sends the latest
/// complete list at its own speed: a slow reader can miss lists, but not the latest one, and needs
/// memory for only one list. Further streams are rejected with RESOURCE_EXHAUSTED; open ones
/// remain, so that the kubelet does not lose its stream.
///
/// Thread-safe. Close before destroying; it must outlive the server whose calls it answers.
class ListStreams {
 public:
  /// Called when the number of open streams changes, in order, from any thread; must not block.
  /// `first_ended`: the first stream of this server has ended.
  using OnChange = std::function<void(int open, bool first_ended)>;

  /// Called with the reason when a stream is rejected, from any thread; must not block.
  using OnRefused = std::function<void(const std::string& reason)>;

  ListStreams(ResourceObserver& observer, OnChange on_change, OnRefused on_refused)
      : observer_(observer), on_change_(std::move(on_change)), on_refused_(std::move(on_refused)) {}

  /// The last streams may have ended on another thread just before: their changes are seen here.
  ~ListStreams() { const std::lock_guard lock(mutex_); }

  /// Opens a stream for a call of ListAndWatch. It immediately sends `first` or the last offered
  /// list, whichever is newer. Without either, it waits for the first Offer.
  void Open(ServerCall& call, std::shared_ptr<const Snapshot> first);

  /// Sends a list on every stream, except those that have sent a newer one.
  void Offer(const std::shared_ptr<const Snapshot>& snapshot);

  /// Sends a last list on every stream, and ends each stream when the list was written.
  void CloseAfter(const std::shared_ptr<const Snapshot>& last);

  /// Ends all streams, and immediately ends streams that are opened later.
  void Close();

 private:
  class Stream;
  void Remove(Stream* stream);

  ResourceObserver& observer_;
  const OnChange on_change_;
  const OnRefused on_refused_;
  std::mutex mutex_;
  std::shared_ptr<const Snapshot> offered_;  ///< the latest
  std::set<Stream*> streams_;
  const Stream* first_ = nullptr;
  bool first_ended_ = false;
  bool closed_ = false;
};

}  // namespace patchbay
