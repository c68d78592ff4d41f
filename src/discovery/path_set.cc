#include "discovery/path_set.h"

#include <utility>

#include "base/path.h"

namespace patchbay {

PathSet::Directory& PathSet::At(std::string_view directory) {
  const auto known = directories_.find(directory);
  if (known != directories_.end()) return known->second;
  return directories_.try_emplace(std::string(directory), &arena_).first->second;
}

bool PathSet::Add(std::string_view path) {
  const std::string_view name = BaseName(path);
  Directory& directory = At(path.substr(0, path.size() - name.size()));
  if (const Devices* const later = std::exchange(directory.later, nullptr)) {
    for (const auto& device : *later) directory.names.emplace(BaseName(device->nodes.front().path));
  }
  return directory.names.emplace(name).second;
}

bool PathSet::HasPathsIn(std::string_view directory) const {
  return directories_.contains(directory);
}

void PathSet::AddLater(std::string_view directory, const Devices& devices) {
  At(directory).later = &devices;
}

}  // namespace patchbay
