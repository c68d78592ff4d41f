#include "sim/kubelet/plugin_watcher.h"

#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "base/format.h"
#include "rpc/socket_file.h"

namespace patchbay {
namespace {

/// The paths below a directory, with the directory itself.
struct Tree {
  std::set<std::string> directories;
  std::set<std::string> files;
};

/// Directories that cannot be read are empty. Links are files.
Tree ListTree(const std::string& root) {
  using std::filesystem::directory_options;
  Tree tree;
  std::error_code error;
  if (std::filesystem::is_directory(root, error)) tree.directories.insert(root);
  std::filesystem::recursive_directory_iterator entry(
      root, directory_options::skip_permission_denied, error);
  for (; !error && entry != std::filesystem::recursive_directory_iterator();
       entry.increment(error)) {
    std::error_code ignored;
    const bool is_directory = !entry->is_symlink(ignored) && entry->is_directory(ignored);
    (is_directory ? tree.directories : tree.files).insert(entry->path());
  }
  return tree;
}

}  // namespace

Result<std::unique_ptr<PluginWatcher>> PluginWatcher::Start(const std::string& directory,
                                                            Events events) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    return Fail(ErrorKind::kUnavailable,
                Format("cannot create {}: {}", directory, error.message()));
  }
  std::unique_ptr<PluginWatcher> watcher(new PluginWatcher(directory, std::move(events)));
  PluginWatcher* const raw = watcher.get();
  watcher->watch_ = TRY(DirWatch::Create(
      watcher->loop_,
      [raw](const std::string& changed, std::string_view name) { raw->OnChange(changed, name); }));
  const DirWatch::Outcome watched = watcher->watch_->Watch({directory});
  if (!watched.failed.empty()) return Failure(watched.failed.front());
  watcher->thread_ = std::thread([raw] {
    raw->Scan();
    raw->loop_.Run();
  });
  return watcher;
}

PluginWatcher::PluginWatcher(std::string directory, Events events)
    : directory_(std::move(directory)), events_(std::move(events)) {}

PluginWatcher::~PluginWatcher() {
  if (!thread_.joinable()) return;
  loop_.Post([this] { loop_.Stop(); });
  thread_.join();
}

void PluginWatcher::OnChange(const std::string& directory, std::string_view name) {
  if (name.empty()) return Scan();
  if (name.starts_with('.')) return;
  const std::string path = Format("{}/{}", directory, name);
  std::error_code ignored;
  if (std::filesystem::symlink_status(path, ignored).type() ==
      std::filesystem::file_type::directory) {
    return Scan();
  }
  Check(path);
}

void PluginWatcher::Scan() {
  Tree tree;
  do {
    tree = ListTree(directory_);
    // A new directory may have changed before it was watched.
  } while (!watch_->Watch(tree.directories).changed.empty());
  for (const auto& [path, identity] : sockets_) tree.files.insert(path);
  for (const std::string& path : tree.files) Check(path);
}

void PluginWatcher::Check(const std::string& path) {
  if (std::filesystem::path(path).filename().native().starts_with('.')) return;
  const auto identity = SocketIdentity(path);
  const auto known = sockets_.find(path);
  if (known != sockets_.end()) {
    if (identity == known->second) return;
    sockets_.erase(known);
    events_.removed(path);
  }
  if (!identity) return;
  sockets_[path] = *identity;
  events_.found(path);
}

}  // namespace patchbay
