// Each group has kEach devices with the IDs "a0", "a1" and so on, where the letter is that of the
// group. Each device has a file state/NAME for its probe, which is replaced atomically. nodes_,
// links_, works_ and serials_ mirror what is on disk, and every change updates both. Devices() and
// IsNode() answer from them and never access the host, which may hang.

#include "chaos/host.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/format.h"
#include "chaos/hangs.h"

namespace patchbay::test {
namespace {

constexpr std::size_t kEach = 4;  ///< devices of a group
/// The groups whose nodes are created and removed.
constexpr Host::Group kChurned[] = {Host::kFirstNodes, Host::kFirstNodes, Host::kSecondNodes,
                                    Host::kThirdNodes, Host::kListed,     Host::kHostile};

/// Devices of kHostile: the first ones have control characters, which a path cannot contain; the
/// last one is never listed.
constexpr std::size_t kControlCharacters = 2;
constexpr std::size_t kNotUtf8 = kEach - 1;

constexpr std::string_view kSerials[] = {"GOOD",  "A B",    "..",     "/etc", "a/b",      "x\ny",
                                         "$(id)", "{path}", "\x1b[m", "\xff", "../shadow"};

std::string Id(std::size_t group, std::size_t number) {
  return Format("{}{}", Host::Letter(group), number);
}
/// Returns the name of a node. In kHostile, a hostile suffix follows the ID, and one name has the
/// maximum length.
std::string Name(std::size_t group, std::size_t number) {
  std::string id = Id(group, number);
  if (group != Host::kHostile) return id;
  switch (number) {
    case 0: return id + "\n..\\x";
    case 1: return id + "\x1b[31m {path} $(id)";
    case 2: return id + std::string(255 - id.size(), 'x');
    default: return id + "\xff";
  }
}
std::string Directory(std::size_t group) {
  return group == Host::kMounted ? Hangs::Directory(Hangs::kMatch) : Format("dev/g{}", group);
}
std::string Path(std::size_t group, std::size_t number) {
  return Directory(group) + "/" + Name(group, number);
}
/// Returns one of the two possible targets of a link. No other link uses them.
std::string Target(std::size_t link, std::size_t which) {
  return Format("dev/targets/{}-{}", link, which);
}
std::string Stick(std::size_t number) {
  return Format("/sys/devices/pci0000:00/0000:00:14.0/usb1/1-{}", number + 1);
}

}  // namespace

bool IsPathComponent(const std::string& text) {
  const auto is_usual = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view(" ._:@+,=~%#-").find(c) != std::string_view::npos;
  };
  return !text.empty() && text.size() <= 255 && text != "." && text != ".." &&
         std::all_of(text.begin(), text.end(), is_usual);
}

std::string Host::Match(std::size_t group) const {
  switch (group) {
    case kListed: return Format("command = {}\ntimeout = \"500ms\"\n", lister_.Command());
    case kSticks: return Format("usb = \"dead:beef\"\nid = \"{}{{minor}}\"\n", Letter(kSticks));
    default: return Format("path = \"/{}/{}*\"\n", Directory(group), Letter(group));
  }
}

std::string Host::Text(std::size_t group) {
  return group == kListed ? "label" : group == kSticks ? "usb_serial" : "";
}

Host::Host(TempTree& tree)
    : tree_(tree),
      lister_(tree, "/" + Path(kListed, 0).substr(0, Path(kListed, 0).size() - 1),
              std::string(1, Letter(kListed)), kEach) {
  for (std::size_t group = 0; group < kGroups; ++group) {
    for (std::size_t i = 0; i < kEach; ++i) {
      SetState(group, i, "ok");
      if (group == kSticks) {
        SetStick(i, true, "GOOD");
      } else if (group != kLinks) {
        SetNode(Path(group, i), true);
      }
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
                                     : Path(random.OneOf(kChurned), random.Below(kEach));
  SetNode(path, !nodes_[path]);
  return Format("/{} {}", path, nodes_[path] ? "appears" : "disappears");
}

std::string Host::Storm(Random& random) {
  const std::string path = Path(random.OneOf(kChurned), random.Below(kEach));
  const std::size_t changes = 20 + random.Below(20);
  for (std::size_t i = 0; i < changes; ++i) SetNode(path, !nodes_[path]);
  return Format("/{} appears and disappears, {} changes, and is {}", path, changes,
                nodes_[path] ? "present" : "absent");
}

std::string Host::RemoveDirectory(Random& random) {
  const std::size_t group = random.OneOf(kChurned);
  for (std::size_t i = 0; i < kEach; ++i) nodes_[Path(group, i)] = false;
  tree_.Remove(Directory(group));
  return Format("/{} disappears", Directory(group));
}

std::string Host::Retarget(Random& random) {
  const std::size_t link = random.Below(kEach);
  const std::string targets[] = {Target(link, 0), Target(link, 1), "dev/targets/nowhere", ""};
  const std::string& target = random.OneOf(targets);
  SetLink(Id(kLinks, link), target);
  return Format("{} {}", Id(kLinks, link), target.empty() ? "disappears" : "points to /" + target);
}

std::string Host::FlipProbe(Random& random) {
  const std::size_t group = random.Below(kGroups), number = random.Below(kEach);
  static constexpr const char* kBroken[] = {"broken", "broken", "hangs"};
  const std::string state = works_[Id(group, number)] ? random.OneOf(kBroken) : "ok";
  SetState(group, number, state);
  return Format("the state of {} is {}", Id(group, number), state);
}

std::string Host::ChangeList(Random& random) {
  needs_refresh_ = true;
  return lister_.Change(random);
}

std::string Host::ChangeStick(Random& random) {
  needs_refresh_ = true;
  const std::size_t number = random.Below(kEach);
  const bool present = !random.OneIn(4);
  const std::string serial =
      random.OneIn(8) ? std::string(300, 'x') : std::string(random.OneOf(kSerials));
  SetStick(number, present, serial);
  return Format("{} {}", Id(kSticks, number),
                present ? Format("has a serial number of {} bytes", serial.size()) : "disappears");
}

bool Host::TakeNeedsRefresh() { return std::exchange(needs_refresh_, false); }

std::map<std::string, Host::Device> Host::Devices(std::size_t group) const {
  std::map<std::string, Device> devices;
  for (std::size_t i = 0; i < kEach; ++i) {
    const std::string id = Id(group, i);
    if (!IsPresent(group, i)) continue;
    devices[id] = {works_.at(id), HasUsableText(group, i),
                   group != kHostile || i >= kControlCharacters};
  }
  return devices;
}

bool Host::IsPresent(std::size_t group, std::size_t number) const {
  if (group == kSticks) return serials_.contains(number);
  if (group == kListed && !lister_.labels().contains(Id(group, number))) return false;
  if (group == kHostile && number == kNotUtf8) return false;
  const auto found =
      nodes_.find(group == kLinks ? links_.at(Id(group, number)) : Path(group, number));
  return found != nodes_.end() && found->second;
}

bool Host::HasUsableText(std::size_t group, std::size_t number) const {
  if (group == kSticks) return IsPathComponent(serials_.at(number));
  return group != kListed || IsPathComponent(lister_.labels().at(Id(group, number)));
}

bool Host::IsNode(std::size_t group, const std::string& path) const {
  for (std::size_t i = 0; i < kEach; ++i) {
    if (path == "/" + Path(group, i)) return true;
    if (group == kLinks && (path == "/" + Target(i, 0) || path == "/" + Target(i, 1))) return true;
  }
  return false;
}

void Host::SetNode(const std::string& path, bool present) {
  if (present == nodes_[path]) return;
  present ? tree_.CharDevice(path) : tree_.Remove(path);
  nodes_[path] = present;
}

/// Replaces a link atomically, as udev does.
void Host::SetLink(const std::string& id, const std::string& target) {
  const std::string link = Directory(kLinks) + "/" + id;
  links_[id] = target;
  if (target.empty()) return tree_.Remove(link);
  tree_.Remove(Directory(kLinks) + "/.new");
  tree_.Link(Directory(kLinks) + "/.new", "../../" + target);
  std::filesystem::rename(tree_.path(Directory(kLinks) + "/.new"), tree_.path(link));
}

void Host::SetState(std::size_t group, std::size_t number, const std::string& state) {
  tree_.File("state/new", state + "\n");
  std::filesystem::rename(tree_.path("state/new"), tree_.path("state/" + Name(group, number)));
  works_[Id(group, number)] = state == "ok";
}

void Host::SetStick(std::size_t number, bool present, const std::string& serial) {
  sysfs_.Remove(Stick(number));
  serials_.erase(number);
  if (!present) return;
  sysfs_.Device(Stick(number),
                {.subsystem = "usb",
                 .driver = "usb",
                 .devtype = "usb_device",
                 .number = Format("189:{}", number),
                 .node = Format("g{}/{}", std::size_t{kSticks}, Id(kSticks, number)),
                 .attributes = {{"idVendor", "dead"}, {"idProduct", "beef"}, {"serial", serial}}});
  serials_[number] = serial;
}

}  // namespace patchbay::test
