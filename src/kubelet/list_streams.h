#pragma once

#include <grpcpp/support/server_callback.h>

#include <functional>
#include <memory>
#include <mutex>
#include <set>

#include "deviceplugin.pb.h"
#include "inventory/observer.h"
#include "model/snapshot.h"

namespace patchbay {

/// The ListAndWatch streams of one server: any number, each of which gets the whole newest list, at
/// its own speed. A slow reader misses what it was too slow for, never the newest, and costs no
/// more than one list.
///
/// Thread-safe. Close before destroying; it must outlive the server whose calls it answers.
class ListStreams {
 public:
  /// Told whenever the number of open streams changes, in order, from any thread; must return at
  /// once. `first_ended`: the first stream that was ever opened here is over.
  using OnChange = std::function<void(int open, bool first_ended)>;

  ListStreams(ResourceObserver& observer, OnChange on_change)
      : observer_(observer), on_change_(std::move(on_change)) {}

  /// A new stream, which begins with `first` at once; null: it waits for the first Offer.
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
  void Remove(Stream* stream);

  ResourceObserver& observer_;
  const OnChange on_change_;
  std::mutex mutex_;
  std::set<Stream*> streams_;
  const Stream* first_ = nullptr;
  bool first_ended_ = false;
  bool closed_ = false;
};

}  // namespace patchbay
