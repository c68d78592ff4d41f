#pragma once

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace patchbay::test {

/// Creates temporary trees in memory from now on: on a slow disk thousands of files take a minute.
struct InMemory {
  InMemory() {
    if (std::filesystem::is_directory("/dev/shm")) setenv("TMPDIR", "/dev/shm", 0);
  }
};

/// A temporary directory for one test, removed with its contents. Paths are relative to it; missing
/// parents are created.
class TempTree {
 public:
  TempTree() {
    std::string pattern = std::filesystem::temp_directory_path() / "patchbay-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    root_ = std::filesystem::canonical(pattern);
  }
  ~TempTree() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  TempTree(const TempTree&) = delete;
  TempTree& operator=(const TempTree&) = delete;

  std::string path(std::string_view relative = "") const {
    return relative.empty() ? root_.string() : (root_ / Relative(relative)).string();
  }

  void Dir(std::string_view relative) { std::filesystem::create_directories(path(relative)); }
  void File(std::string_view relative, std::string_view text = "") {
    Parent(relative);
    std::ofstream(path(relative), std::ios::binary) << text;
  }
  void Link(std::string_view relative, std::string_view target) {
    Parent(relative);
    std::filesystem::create_symlink(target, path(relative));
  }
  /// Creates a character device with a number that depends only on the path. It has no driver, so
  /// it cannot be opened. Needs root.
  void CharDevice(std::string_view relative) {
    const std::size_t hash = std::hash<std::string_view>()(Relative(relative));
    CharDevice(relative, static_cast<unsigned>(1000 + (hash >> 20U) % 3000),
               static_cast<unsigned>(hash & 0xfffffU));
  }
  void CharDevice(std::string_view relative, unsigned major, unsigned minor) {
    Node(relative, S_IFCHR | 0666, major, minor);
  }
  /// Creates another node of /dev/null, which can be opened.
  void NullDevice(std::string_view relative) { CharDevice(relative, 1, 3); }
  void BlockDevice(std::string_view relative, unsigned major, unsigned minor) {
    Node(relative, S_IFBLK | 0660, major, minor);
  }
  void Remove(std::string_view relative) { std::filesystem::remove_all(path(relative)); }

 private:
  static std::string_view Relative(std::string_view path) {
    while (path.starts_with('/')) path.remove_prefix(1);
    return path;
  }
  void Parent(std::string_view relative) {
    std::filesystem::create_directories(std::filesystem::path(path(relative)).parent_path());
  }
  void Node(std::string_view relative, mode_t mode, unsigned major, unsigned minor) {
    Parent(relative);
    if (mknod(path(relative).c_str(), mode, makedev(major, minor)) != 0) {
      throw std::runtime_error("mknod failed; device nodes need root");
    }
  }

  std::filesystem::path root_;
};

}  // namespace patchbay::test
