#pragma once

#include <functional>
#include <map>
#include <memory>
#include <memory_resource>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "model/device.h"

namespace patchbay {

/// The paths that one scan has found, so that it finds each only once. Devices of a whole directory
/// are added in constant time. Not thread-safe; used by the thread of the scan.
class PathSet {
 public:
  using Devices = std::vector<std::shared_ptr<const Device>>;

  PathSet() = default;
  PathSet(const PathSet&) = delete;
  PathSet& operator=(const PathSet&) = delete;

  /// Adds an absolute path. Returns false if it was there.
  bool Add(std::string_view path);
  /// Returns whether a path directly in `directory`, which ends with "/", was added.
  bool HasPathsIn(std::string_view directory) const;
  /// Adds the first path of each of these devices, which are all directly in `directory`. Call it
  /// once for a directory. `devices` must outlive the object; it is read at the next Add of a path
  /// there.
  void AddLater(std::string_view directory, const Devices& devices);

 private:
  struct Directory {
    explicit Directory(std::pmr::memory_resource* arena) : names(arena) {}

    std::pmr::unordered_set<std::pmr::string> names;
    const Devices* later = nullptr;
  };
  Directory& At(std::string_view directory);

  std::pmr::monotonic_buffer_resource arena_;  ///< of all names, which are only added
  std::map<std::string, Directory, std::less<>> directories_;
};

}  // namespace patchbay
