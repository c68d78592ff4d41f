#include "chaos/hangs.h"

#include <sys/stat.h>

#include <chrono>
#include <utility>

#include "base/format.h"

namespace patchbay::test {

std::string Hangs::Name(SourceLocation place) {
  static constexpr const char* kNames[] = {"match", "device node", "mount", "probe", "hook"};
  return kNames[place];
}

std::string Hangs::Directory(SourceLocation place) {
  return Format("mnt/{}", static_cast<std::size_t>(place));
}

Hangs::Hangs(TempTree& tree) : tree_(tree) {
  for (std::size_t place = 0; place < kPlaces; ++place) {
    tree_.Dir(Directory(static_cast<SourceLocation>(place)));
  }
  tree_.CharDevice(Directory(kDeviceNode) + "/node");
  tree_.File(Directory(kMount) + "/file");
  tree_.File(Directory(kProbe) + "/state", "ok\n");
  const std::string program = Directory(kHook) + "/program";
  tree_.File(program, "#!/bin/sh\n");
  chmod(tree_.path(program).c_str(), 0755);
}

std::string Hangs::Begin(SourceLocation place) {
  if (mounts_.contains(place)) return "the file system of a " + Name(place) + " still hangs";
  auto mount = std::make_unique<HangingMount>(tree_.path(Directory(place)));
  if (!mount->why_not().empty()) {
    why_not_ = mount->why_not();
    return "no file system hangs: " + why_not_;
  }
  mounts_.emplace(place, std::move(mount));
  return "the file system of a " + Name(place) + " hangs";
}

std::string Hangs::End(Random& random) {
  const auto place = static_cast<SourceLocation>(random.Below(kPlaces));
  if (!mounts_.contains(place)) return "the file system of a " + Name(place) + " responds";
  Count();
  mounts_.erase(place);
  counted_.erase(place);
  return "the file system of a " + Name(place) + " is unmounted";
}

std::string Hangs::EndAll() {
  Count();
  mounts_.clear();
  counted_.clear();
  return "no file system hangs";
}

void Hangs::Count() {
  for (const auto& [place, mount] : mounts_) {
    if (!mount->AwaitHang(std::chrono::milliseconds(0))) continue;
    if (counted_.insert(place).second) ++hung_[place];
  }
}

}  // namespace patchbay::test
