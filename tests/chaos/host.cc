#include "chaos/host.h"

#include <filesystem>

#include "base/format.h"

namespace patchbay::test {
namespace {

constexpr std::size_t kEach = 4;  ///< devices of a group
constexpr std::size_t kLinks = Host::kGroups - 1;

char Letter(std::size_t group) { return static_cast<char>('a' + group); }
std::string Id(std::size_t group, std::size_t number) {
  return format("{}{}", Letter(group), number);
}
std::string Directory(std::size_t group) { return format("dev/g{}", group); }
std::string Path(std::size_t group, std::size_t number) {
  return Directory(group) + "/" + Id(group, number);
}
/// Each link has two nodes of its own to choose from, so that no two lead to one.
std::string Target(std::size_t link, std::size_t which) {
  return format("dev/targets/{}-{}", link, which);
}

}  // namespace

std::string Host::Pattern(std::size_t group) {
  return format("/{}/{}*", Directory(group), Letter(group));
}

Host::Host(TempTree& tree) : tree_(tree) {
  for (std::size_t group = 0; group < kGroups; ++group) {
    for (std::size_t i = 0; i < kEach; ++i) {
      SetState(Id(group, i), "ok");
      if (group != kLinks) SetNode(Path(group, i), true);
    }
  }
  for (std::size_t i = 0; i < kEach; ++i) {
    for (std::size_t which : {0, 1}) SetNode(Target(i, which), true);
    SetLink(Id(kLinks, i), Target(i, 0));
  }
}

std::string Host::Churn(Random& random) {
  const bool is_target = random.OneIn(4);
  const std::string path = is_target ? Target(random.Below(kEach), random.Below(2))
                                     : Path(random.Below(kLinks), random.Below(kEach));
  SetNode(path, !nodes_[path]);
  return format("/{} {}", path, nodes_[path] ? "comes" : "goes");
}

std::string Host::Storm(Random& random) {
  const std::string path = Path(random.Below(kLinks), random.Below(kEach));
  const std::size_t changes = 20 + random.Below(20);
  for (std::size_t i = 0; i < changes; ++i) SetNode(path, !nodes_[path]);
  return format("/{} comes and goes, {} changes, and is {}", path, changes,
                nodes_[path] ? "there" : "not there");
}

std::string Host::RemoveDirectory(Random& random) {
  const std::size_t group = random.Below(kLinks);
  for (std::size_t i = 0; i < kEach; ++i) nodes_[Path(group, i)] = false;
  tree_.Remove(Directory(group));
  return format("/{} goes", Directory(group));
}

std::string Host::Retarget(Random& random) {
  const std::size_t link = random.Below(kEach);
  const std::string targets[] = {Target(link, 0), Target(link, 1), "dev/targets/nowhere", ""};
  const std::string& target = random.OneOf(targets);
  SetLink(Id(kLinks, link), target);
  return format("{} {}", Id(kLinks, link), target.empty() ? "goes" : "leads to /" + target);
}

std::string Host::FlipProbe(Random& random) {
  const std::string id = Id(random.Below(kGroups), random.Below(kEach));
  static constexpr const char* kBroken[] = {"broken", "broken", "hangs"};
  const std::string state = works_[id] ? random.OneOf(kBroken) : "ok";
  SetState(id, state);
  return format("the state of {} is {}", id, state);
}

std::map<std::string, bool> Host::Devices(std::size_t group) const {
  std::map<std::string, bool> devices;
  for (std::size_t i = 0; i < kEach; ++i) {
    const std::string id = Id(group, i);
    const std::string node = group == kLinks ? links_.at(id) : Path(group, i);
    const auto found = nodes_.find(node);
    if (found != nodes_.end() && found->second) devices[id] = works_.at(id);
  }
  return devices;
}

void Host::SetNode(const std::string& path, bool present) {
  if (present == nodes_[path]) return;
  present ? tree_.CharDevice(path) : tree_.Remove(path);
  nodes_[path] = present;
}

/// As udev does: there is never no link while it leads elsewhere.
void Host::SetLink(const std::string& id, const std::string& target) {
  const std::string link = Directory(kLinks) + "/" + id;
  links_[id] = target;
  if (target.empty()) return tree_.Remove(link);
  tree_.Remove(Directory(kLinks) + "/.new");
  tree_.Link(Directory(kLinks) + "/.new", "../../" + target);
  std::filesystem::rename(tree_.path(Directory(kLinks) + "/.new"), tree_.path(link));
}

void Host::SetState(const std::string& id, const std::string& state) {
  tree_.File("state/new", state + "\n");
  std::filesystem::rename(tree_.path("state/new"), tree_.path("state/" + id));
  works_[id] = state == "ok";
}

}  // namespace patchbay::test
