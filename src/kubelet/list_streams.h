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
  /// `on_count` is told how many streams are open whenever that changes, in order; it may be called
  /// from any thread and must return at once.
  ListStreams(ResourceObserver& observer, std::function<void(int open)> on_count)
      : observer_(observer), on_count_(std::move(on_count)) {}

  /// A new stream, which begins with `first` at once; null: it waits for the first Offer.
  grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse>* Open(
      std::shared_ptr<const Snapshot> first);

  /// Sends a list on every stream, unless that stream had a newer one.
  void Offer(const std::shared_ptr<const Snapshot>& snapshot);

  /// Ends all streams, and every one that is opened from now on.
  void Close();

 private:
  class Stream;
  void Remove(Stream* stream);

  ResourceObserver& observer_;
  const std::function<void(int)> on_count_;
  std::mutex mutex_;
  std::set<Stream*> streams_;
  bool closed_ = false;
};

}  // namespace patchbay
