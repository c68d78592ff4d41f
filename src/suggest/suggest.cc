// First, all devices of the kinds of the table are found. Devices that a word names and no kind
// recognizes get a kind of their own, together with the others of their subsystem, from which a
// match has to distinguish them. Only then a match is made for each device that is listed.

#include "suggest/suggest.h"

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include "base/ascii.h"
#include "base/format.h"
#include "base/path.h"
#include "discovery/device_risks.h"
#include "discovery/named_devices.h"
#include "model/glob.h"
#include "suggest/identity.h"
#include "suggest/kinds.h"

namespace patchbay {
namespace {

constexpr std::string_view kDomain = "example.com/";
constexpr std::size_t kMaxListed = 100;  ///< matches of a resource, nodes of a device
constexpr std::size_t kMaxSimilar = 5;   ///< names
constexpr int kSharedReplicas = 20;

/// Returns a text that only the parts of one device of a kind have in common: the directory in
/// sysfs that contains them.
std::string WholeOf(const DeviceKind& kind, const DeviceAncestry& device, const Sysfs& sysfs) {
  // On VFIO, the functions of an IOMMU group have one node.
  if (kind.subsystem == "pci") {
    const auto group = sysfs.Attribute(device.self().path, "iommu_group");
    if (group) return *group;
  }
  if (!kind.traits.is_whole) return device.self().path;
  if (const SysfsDevice* card = device.Card()) return card->path;
  return device.devices.size() > 1 ? device.devices[1].get().path : device.self().path;
}

/// Returns whether a device is hardware that a pod can get. A virtual network interface has no
/// parent on a bus, and a wireless one is useless without its radio. Pods get disks, no partitions.
bool IsUsable(const DeviceAncestry& device) {
  const SysfsDevice& self = device.self();
  const auto found = self.properties.find("DEVTYPE");
  const std::string type = found == self.properties.end() ? "" : found->second;
  if (self.subsystem == "pci") return true;
  if (self.subsystem != "net") return !self.node.empty() && type != "partition";
  const bool has_bus = device.devices.size() > 1 && !device.devices[1].get().subsystem.empty();
  return has_bus && type != "wlan";
}

/// Returns a text as a part of the name of a resource.
std::string NameFrom(std::string_view text) {
  std::string name;
  for (const char c : text.substr(0, 40)) {
    if (IsAlnum(c) || !name.ends_with('-')) name.push_back(IsAlnum(c) ? ToLower(c) : '-');
  }
  name.erase(name.find_last_not_of('-') + 1).erase(0, name.find_first_not_of('-'));
  return name.empty() ? "device" : name;
}

/// Returns the first number in the name of a node.
std::string NumberIn(std::string_view node) {
  const std::string_view name = BaseName(node);
  const auto start = std::min(name.find_first_of("0123456789"), name.size());
  return std::string(name.substr(start, name.find_first_not_of("0123456789", start) - start));
}

Suggestion SuggestionOf(std::string_view kind, NewMatch match, std::string identity) {
  Suggestion made{.kind = std::string(kind), .identity = std::move(identity)};
  made.entry.name = std::string(kDomain).append(kind);
  made.entry.nodes = {NewNode{}};
  made.entry.matches = {std::move(match)};
  return made;
}

class Suggester {
 public:
  Suggester(const HostRoot& host, const SuggestRequest& request) : request_(request), host_(host) {}

  Suggestions Run() {
    FindKnown();
    const bool is_shortest = !request_.devices.empty();
    for (const std::string& word : request_.devices) Ask(word);
    std::vector<std::size_t> listed(asked_.begin(), asked_.end());
    if (!is_shortest) listed = DevicesToOffer();
    std::map<std::string, std::size_t> counts;
    std::erase_if(listed, [&](std::size_t i) {
      const std::string kind(devices_[i].kind->resource);
      if (++counts[kind] > kMaxListed) ++result_.left_out[kind];
      return counts[kind] > kMaxListed;
    });
    const auto identities = Identify(devices_, listed, is_shortest, ancestries_, sysfs_);
    const std::vector<Suggestion> nodes = std::exchange(result_.list, {});
    for (std::size_t i = 0; i < listed.size(); ++i) {
      if (identities[i]) AddDevice(devices_[listed[i]], *identities[i]);
    }
    result_.list.insert(result_.list.end(), nodes.begin(), nodes.end());
    if (is_shortest) return std::move(result_);
    result_.notes.front().insert(0, "The devices of this host. ");
    for (const NodeKind& kind : NodeKinds()) AddNodes(kind, "");
    return std::move(result_);
  }

 private:
  std::size_t Add(HostDevice device) {
    for (const auto* parts : {&device.parts, &device.console}) {
      for (const DeviceAncestry& part : *parts) index_[part.self().path] = devices_.size();
    }
    devices_.push_back(std::move(device));
    return devices_.size() - 1;
  }

  using DevicesByPlace = std::map<std::pair<const DeviceKind*, std::string>, HostDevice>;

  /// Ports with the driver of any adapter, cdc_acm, belong to the modem that has them.
  static void AddPortsToModems(DevicesByPlace& found) {
    std::map<std::string, HostDevice*> modems;  // by the path of their card
    for (auto& [key, device] : found) {
      if (key.first->resource == "modem") modems[key.second] = &device;
    }
    std::erase_if(found, [&](const auto& one) {
      const SysfsDevice* card = one.second.parts.front().Card();
      if (one.first.first->resource != "serial" || card == nullptr) return false;
      const auto modem = modems.find(card->path);
      if (modem == modems.end()) return false;
      auto& parts = modem->second->parts;
      parts.insert(parts.end(), one.second.parts.begin(), one.second.parts.end());
      return true;
    });
  }

  /// Finds the devices of the host, ordered by kind and place.
  void FindKnown() {
    DevicesByPlace found;
    const SysfsPaths paths =
        sysfs_.Devices([](std::string_view name) { return IsSubsystemOfKind(std::string(name)); });
    for (const std::string& path : paths.paths) {
      const auto device = ancestries_.Of(path);
      if (!device || !IsUsable(*device)) continue;
      const DeviceKind* kind = KindOf(*device, ancestries_, sysfs_);
      if (kind == nullptr) continue;
      HostDevice& whole = found[{kind, WholeOf(*kind, *device, sysfs_)}];
      whole.kind = kind;
      whole.parts.push_back(*device);
    }
    AddPortsToModems(found);
    for (auto& [key, device] : found) {
      // Sensors and other parts of a pipeline are not cameras.
      const auto is_aside = [](const DeviceAncestry& part) {
        const auto uses = part.self().properties.find("ID_V4L_CAPABILITIES");
        const bool is_known = uses != part.self().properties.end();
        return part.self().name.starts_with("v4l-") || (is_known && uses->second == ":");
      };
      const bool is_camera = device.kind->resource == "camera";
      if (is_camera && std::ranges::all_of(device.parts, is_aside)) continue;
      if (device.kind->resource == "gpu") SplitConsole(device);
      Add(std::move(device));
    }
    if (!paths.errors.empty()) result_.notes.push_back(paths.errors.front().message + ".");
    if (!sysfs_.properties().HasDatabase()) {
      result_.notes.emplace_back(
          "There is no udev database, so serial numbers of disks and places of devices are not "
          "known: mount the host's /run/udev.");
    }
  }

  /// Separates the card nodes of a GPU, of which only these are the console, from its render nodes.
  void SplitConsole(HostDevice& gpu) {
    const auto is_harmless = [&](const auto& part) { return risks_.Of(part).empty(); };
    const auto cards = std::stable_partition(gpu.parts.begin(), gpu.parts.end(), is_harmless);
    if (cards == gpu.parts.begin()) return;
    gpu.console.assign(cards, gpu.parts.end());
    gpu.parts.erase(cards, gpu.parts.end());
  }

  /// Returns the resource that serves a node, or a device without one by its path; "" if none does.
  std::string ServedBy(const std::string& path, const std::optional<DeviceNumber>& number) const {
    NodeKey key{0, path};
    if (number) key = KeyOf({path, path, number->type, number->major, number->minor});
    const auto found = request_.served.find(key);
    return found == request_.served.end() ? "" : found->second;
  }

  std::string ServedBy(const HostDevice& device) const {
    std::string resource;
    for (const DeviceAncestry& part : device.parts) {
      const SysfsDevice& self = part.self();
      const std::string path = self.subsystem == "net" ? "/sys/class/net/" + self.name : self.path;
      if (resource.empty()) resource = ServedBy(path, self.number);
    }
    return resource;
  }

  std::vector<std::size_t> DevicesToOffer() {
    std::vector<std::size_t> offered;
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      const DeviceKind& kind = *devices_[i].kind;
      const DeviceAncestry& part = devices_[i].parts.front();
      const std::string resource = ServedBy(devices_[i]);
      if (!request_.lists_served && !resource.empty()) {
        ++result_.served[resource];
      } else if (IsVirtualMedium(kind, part, sysfs_) ||
                 (kind.resource == "gpu" && !NvidiaNodeOf(part, sysfs_).empty())) {
        continue;
      } else if (kind.resource == "disk" && !risks_.disks().RiskOf(part.self()).empty()) {
        ++result_.used_disks;
      } else {
        offered.push_back(i);
      }
    }
    return offered;
  }

  /// Returns why an administrator should decide whether pods get a device, "" if it is harmless.
  std::string DangerOf(const HostDevice& device) {
    for (const DeviceAncestry& part : device.parts) {
      const SysfsDevice& self = part.self();
      if (device.kind->traits.is_generic && self.node.empty() && self.subsystem != "net") {
        return "it has no node, so a container gets nothing with it";
      }
      if (std::string why = risks_.Of(part); !why.empty()) return why;
    }
    return "";
  }

  void AddDevice(const HostDevice& device, Identity identity) {
    const DeviceKind& kind = *device.kind;
    const SysfsDevice& self = device.parts.front().self();
    Suggestion made = SuggestionOf(kind.resource, std::move(identity.match), identity.why);
    if (!kind.traits.also.empty()) {
      made.entry.nodes.push_back({.host_path = std::string(kind.traits.also), .optional = true});
    }
    if (self.properties.contains("INTERFACE")) made.entry.env = {{"INTERFACES", "{INTERFACE}"}};
    if (!kind.traits.note.empty()) made.entry.notes.emplace_back(kind.traits.note);
    for (const DeviceAncestry& part : device.parts) {
      if (made.devices.size() == kMaxListed) break;
      made.devices.push_back(part.self().node.empty() ? part.self().name : part.self().node);
    }
    if (kind.resource == "vfio" && !kind.traits.is_generic) {
      made.devices = {"/dev/vfio/" + WholeOf(kind, device.parts.front(), sysfs_)};
    }
    NewMatch& match = made.entry.matches.front();
    made.served_by = ServedBy(device);
    made.danger = DangerOf(device);
    if (!device.console.empty()) {
      NewMatch whole = match;
      whole.alternatives.clear();
      std::erase_if(whole.udev.properties, [](const auto& one) { return one.first == "DEVNAME"; });
      whole.notes = {"Or with its card node: it is the console of this machine."};
      match.alternatives.push_back(std::move(whole));
    }
    Finish(std::move(made));
  }

  /// Adds a suggestion, as a comment if it is dangerous or served.
  void Finish(Suggestion made) {
    NewMatch& match = made.entry.matches.front();
    std::string why = made.danger;
    if (!made.served_by.empty()) why = Format("{} already serves it", made.served_by);
    if (!why.empty()) {
      match.is_comment = true;
      match.notes.push_back(Format("It is a comment because {}.", why));
    }
    result_.list.push_back(std::move(made));
  }

  /// Adds the nodes of a kind that exist, or only what is asked for: a node, or the card with it.
  void AddNodes(const NodeKind& kind, const std::string& asked) {
    const bool is_card = !kind.regex.empty();
    const Glob glob = Glob::Compile(kind.paths).value();
    std::vector<std::string> nodes;
    NewMatch match;
    for (const Glob::Components& path : glob.alternatives()) {
      std::string directory;
      for (std::size_t i = 0; i + 1 < path.size(); ++i) directory += "/" + path[i].name.text();
      const NamePattern& name = path.back().name;
      const auto found =
          host_.List(directory, [&](const auto& entry) { return name.Matches(entry); });
      if (!found || found->empty()) continue;
      match.paths.push_back(directory + "/" + name.text());
      for (const HostEntry& entry : *found) {
        const bool is_in_sysfs = sysfs_.OfNode(entry.type, entry.major, entry.minor).has_value();
        if (!is_card || !is_in_sysfs) nodes.push_back(directory + "/" + entry.name);
      }
    }
    std::ranges::sort(nodes);
    std::string why = "by its name, which stays";
    if (is_card) {
      why = "by its number, which stays while the same cards are in the same slots";
      match = {.regex = std::string(kind.regex), .id = Format("{0}{{{0}}}", kind.id)};
      if (kind.regex.ends_with('*')) match.group_by = kind.id;
      const NewMatch all = match;
      if (!asked.empty()) match.regex.replace(match.regex.find("\\d+"), 3, NumberIn(asked));
      const auto is_other = [&](const auto& node) { return NumberIn(node) != NumberIn(asked); };
      if (!asked.empty() && std::erase_if(nodes, is_other) > 0) match.alternatives = {all};
      for (NewMatch& other : match.alternatives) other.notes = {"Or all of its type."};
    } else {
      if (!asked.empty()) nodes = match.paths = {asked};
      match.together = match.paths.size() > 1 || (!nodes.empty() && match.paths[0].ends_with('*'));
      if (match.together) match.id = kind.resource;
    }
    if (nodes.empty()) return;
    const std::string_view more = nodes.size() > 1 ? ", …" : "";
    const std::string cards = Format("{} ({}{})", kind.what, nodes.front(), more);
    match.notes = {is_card ? cards : std::string(kind.what)};
    if (is_card) match.notes.push_back(Format("It is matched {}.", why));
    Suggestion made = SuggestionOf(kind.resource, std::move(match), why);
    if (!is_card) made.entry.replicas = kSharedReplicas;
    for (const std::string_view also : kind.also) {
      const bool is_optional = also != kind.also.front();
      made.entry.nodes.push_back({.host_path = std::string(also), .optional = is_optional});
    }
    if (!kind.env.first.empty()) made.entry.env.emplace_back(kind.env);
    made.danger = kind.danger;
    AddByName(std::move(made), std::move(nodes));
  }

  void AddByName(Suggestion made, std::vector<std::string> nodes) {
    for (const std::string& node : nodes) {
      const auto file = host_.Resolve(node);
      if (!file || !made.served_by.empty()) continue;
      made.served_by = ServedBy(node, DeviceNumber{file->type, file->major, file->minor});
    }
    if (request_.devices.empty() && !request_.lists_served && !made.served_by.empty()) {
      ++result_.served[made.served_by];
      return;
    }
    nodes.resize(std::min(nodes.size(), kMaxListed));
    made.devices = std::move(nodes);
    Finish(std::move(made));
  }

  void Ask(const std::string& word) {
    const WordTarget named = FindNamed(word, request_.directory, ancestries_, sysfs_);
    std::string why_none = named.why_none;
    if (!named.note.empty()) result_.notes.push_back(named.note);
    // A path in /sys, or another node, names the device of the node that the kernel has for it.
    std::string node = named.node;
    if (named.syspaths.size() == 1) {
      const auto device = ancestries_.Of(named.syspaths.front());
      if (device && host_.Resolve(device->self().node)) node = device->self().node;
    }
    const auto kind = std::ranges::find_if(NodeKinds(), [&](const NodeKind& one) {
      return !node.empty() && Glob::Compile(one.paths).value().Matches(node) &&
             (one.regex.empty() || named.syspaths.empty());
    });
    const bool is_by_name = kind != NodeKinds().end() || named.syspaths.empty();
    if (is_by_name && !node.empty() && !asked_nodes_.insert(node).second) return;
    if (kind != NodeKinds().end()) {
      AddNodes(*kind, node);
    } else if (!named.syspaths.empty()) {
      for (const std::string& path : named.syspaths) {
        why_none = AskDevice(path, named.node.empty());
      }
    } else if (!node.empty()) {
      const std::string why =
          "by its name, because /sys does not have it: check it after a restart";
      NewMatch match{.notes = {Format("device ({})", node), Format("It is matched {}.", why)},
                     .paths = {EscapedForGlob(node)}};
      for (const NodeKind& one : NodeKinds()) {
        if (std::ranges::count(one.also, node) == 0) continue;
        match.notes.push_back(Format("It is useless without an {}: name one of those.", one.what));
      }
      Suggestion made = SuggestionOf(NameFrom(BaseName(node)), match, why);
      const auto file = host_.Resolve(node);
      if (file && file->type == FileType::kBlock) made.danger = kErases;
      AddByName(std::move(made), {node});
    }
    if (why_none.empty()) return;
    result_.unknown.push_back({word, why_none, SimilarTo(word)});
  }

  /// Returns the names of devices whose kind or product has the word, or else of similar ones.
  std::vector<std::string> SimilarTo(const std::string& word) {
    std::vector<std::string> similar;
    for (const HostDevice& device : devices_) {
      const SysfsDevice& self = device.parts.front().self();
      const std::string text =
          Format("{} {}", device.kind->resource, DescriptionOf(device, sysfs_));
      const bool has_word = word.size() > 2 && ToLower(text).find(ToLower(word)) != text.npos;
      if (has_word) similar.push_back(self.node.empty() ? self.name : self.node);
    }
    similar.resize(std::min(similar.size(), kMaxSimilar));
    return similar.empty() ? SimilarNames(word, ancestries_, sysfs_) : similar;
  }

  /// Asks for the devices that a device of sysfs is a part of, or that have parts below it. Returns
  /// why there are none.
  std::string AskDevice(const std::string& path, bool with_parts) {
    const auto device = ancestries_.Of(path);
    if (!device) return "it was removed";
    std::vector<DeviceAncestry> parts = {*device};
    if (with_parts && !index_.contains(path)) parts = PartsOf(*device, ancestries_, sysfs_);
    bool is_known = false;
    for (const DeviceAncestry& part : parts) {
      const auto known = index_.find(part.self().path);
      if (known == index_.end()) continue;
      is_known = true;
      asked_.insert(known->second);
      HostDevice& whole = devices_[known->second];
      const auto is_it = [&](const DeviceAncestry& one) { return one.self().path == path; };
      if (std::ranges::none_of(whole.console, is_it)) continue;
      whole.parts.insert(whole.parts.begin(), whole.console.begin(), whole.console.end());
      whole.console.clear();
    }
    if (is_known) return "";
    std::map<std::string, HostDevice> groups;  // by subsystem
    for (DeviceAncestry& part : parts) groups[part.self().subsystem].parts.push_back(part);
    if (groups.size() > 1) groups.erase("usb");
    if (groups.empty()) groups[device->self().subsystem].parts = {*device};
    if (groups.contains("")) return "it has no subsystem in /sys";
    for (auto& [subsystem, group] : groups) {
      const bool has_node = !group.parts.front().self().node.empty();
      // An interface without hardware is one of its kind, too.
      const bool is_net = subsystem == "net" && group.parts.size() == 1;
      group.kind = is_net ? KindOf(group.parts.front(), ancestries_, sysfs_) : nullptr;
      if (group.kind == nullptr) group.kind = &KindFor(subsystem, group.parts.size() > 1);
      asked_.insert(Add(std::move(group)));
      AddOthers(subsystem, has_node);
    }
    return "";
  }

  /// Returns a kind for devices of a subsystem that the table does not have.
  const DeviceKind& KindFor(const std::string& subsystem, bool is_whole) {
    const auto keep = [&](std::string text) -> std::string_view {
      return texts_.emplace_back(std::move(text));
    };
    return generic_kinds_.emplace_back(DeviceKind{keep(NameFrom(subsystem)),
                                                  keep(subsystem + " device"),
                                                  keep(EscapedForGlob(subsystem)),
                                                  "*",
                                                  {.is_whole = is_whole,
                                                   .note = subsystem == "net" ? kHostNetwork : "",
                                                   .is_generic = true}});
  }

  /// Adds the other devices of a subsystem.
  void AddOthers(const std::string& subsystem, bool with_node) {
    const auto is_it = [&](std::string_view name) { return name == subsystem; };
    const DeviceKind* kind = nullptr;
    for (const std::string& path : sysfs_.Devices(is_it).paths) {
      const auto device = ancestries_.Of(path);
      if (!device || index_.contains(path) || device->self().subsystem != subsystem) continue;
      if (with_node && device->self().node.empty()) continue;
      if (kind == nullptr) kind = &KindFor(subsystem, false);
      Add({.kind = kind, .parts = {*device}});
    }
  }

  const SuggestRequest& request_;
  const HostRoot& host_;
  const Sysfs sysfs_{host_};
  DeviceAncestries ancestries_{sysfs_};
  DeviceRisks risks_{ancestries_, sysfs_};
  std::deque<DeviceKind> generic_kinds_;
  std::deque<std::string> texts_;  ///< of generic kinds
  std::vector<HostDevice> devices_;
  std::map<std::string, std::size_t> index_;  ///< of devices, by the syspath of a part
  std::set<std::size_t> asked_;
  std::set<std::string> asked_nodes_;
  Suggestions result_{.notes = {"Replace example.com with a domain of yours."}};
};

}  // namespace

void AddServed(const Snapshot& snapshot, ServedNodes& served) {
  for (const ListedDevice& listed : snapshot.devices) {
    for (const NodeKey& key : HostKeysOf(*listed.device)) served.emplace(key, snapshot.spec->name);
  }
}

Suggestions Suggest(const HostRoot& host, const SuggestRequest& request) {
  return Suggester(host, request).Run();
}

}  // namespace patchbay
