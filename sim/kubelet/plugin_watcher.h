#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "base/result.h"
#include "os/asio_loop.h"
#include "os/dir_watch.h"

namespace patchbay {

/// Finds the sockets in the kubelet's plugin registry and its subdirectories (plugin_watcher.go):
/// those that exist at the start, and by inotify those that are created, removed and re-created
/// later. Skips sockets and new directories with a leading ".", and files that are not sockets.
class PluginWatcher {
 public:
  /// Called with the path of a socket, on the thread of the watcher. A socket that was re-created
  /// is removed first, then found.
  struct Events {
    std::function<void(const std::string& path)> found;
    std::function<void(const std::string& path)> removed;
  };

  /// Creates the directory if it is absent, and watches it. Fails with kUnavailable.
  static Result<std::unique_ptr<PluginWatcher>> Start(const std::string& directory, Events events);
  /// No event is reported afterwards.
  ~PluginWatcher();
  PluginWatcher(const PluginWatcher&) = delete;
  PluginWatcher& operator=(const PluginWatcher&) = delete;

 private:
  PluginWatcher(std::string directory, Events events);
  void OnChange(const std::string& directory, std::string_view name);
  void Scan();
  void Check(const std::string& path);

  const std::string directory_;
  const Events events_;
  std::map<std::string, std::string> sockets_;  ///< path to identity; on the thread of the loop
  AsioLoop loop_;
  std::unique_ptr<DirWatch> watch_;
  std::thread thread_;
};

}  // namespace patchbay
