#pragma once

#include <grpcpp/support/server_callback.h>

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "deviceplugin.pb.h"
#include "model/snapshot.h"
#include "status/observer.h"

namespace patchbay {

/// Open streams of one server. The kubelet has one; the rest is for people who look.
inline constexpr int kMaxStreams = 16;

/// The ListAndWatch streams of one server: up to kMaxStreams, each of which gets the whole newest
/// list, at its own speed. A slow reader misses what it was too slow for, never the newest, and
/// costs no more than one list. A stream beyond the limit is refused with RESOURCE_EXHAUSTED; those
/// that are open stay, above all the first, which is the kubelet's.
///
/// Thread-safe. Close before destroying; it must outlive the server whose calls it answers.
class ListStreams {
 public:
  /// Told whenever the number of open streams changes, in order, from any thread; must return at
  /// once. `first_ended`: the first stream that was ever opened here is over.
  using OnChange = std::function<void(int open, bool first_ended)>;

  /// Called with the reason when a stream is refused, from any thread; must return at once.
  using OnRefused = std::function<void(const std::string& reason)>;

  ListStreams(ResourceObserver& observer, OnChange on_change, OnRefused on_refused)
      : observer_(observer), on_change_(std::move(on_change)), on_refused_(std::move(on_refused)) {}

  /// A new stream, which begins at once with `first` or with what was offered last, whichever is
  /// newer; without either it waits for the first Offer.
  grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse>* Open(
      std::shared_ptr<const Snapshot> first);

  /// Sends a list on every stream, unless that stream had a newer one.
  void Offer(const std::shared_ptr<const Snapshot>& snapshot);

  /// Sends a last list on every stream and ends it once that was taken.
  void CloseAfter(const std::shared_ptr<const Snapshot>& last);

  /// Ends all streams, and every one that is opened from now on.
  void Close();

 private:
  class Stream;
  class RefusedStream;
  void Remove(Stream* stream);

  ResourceObserver& observer_;
  const OnChange on_change_;
  const OnRefused on_refused_;
  std::mutex mutex_;
  std::shared_ptr<const Snapshot> offered_;  ///< the newest
  std::set<Stream*> streams_;
  const Stream* first_ = nullptr;
  bool first_ended_ = false;
  bool closed_ = false;
};

}  // namespace patchbay
