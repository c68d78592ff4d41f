#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>

#include "chaos/lister.h"
#include "chaos/random.h"
#include "support/fake_sysfs.h"
#include "support/temp_tree.h"

namespace patchbay::test {

/// The devices of a host and their changes, in groups that are found in different ways. Only this
/// class changes them, so it has the actual state.
///
/// Every change returns what was done.
class Host {
 public:
  enum Group : std::size_t {
    kFirstNodes,
    kSecondNodes,
    kThirdNodes,
    kLinks,    ///< links to nodes
    kListed,   ///< a program lists them
    kMounted,  ///< below Hangs::kMatch; they always exist
    kHostile,  ///< nodes with hostile names
    kSticks,   ///< USB devices with hostile serial numbers
    kGroups
  };

  struct Device {
    bool works = true;            ///< the file that its probe reads has the expected content
    bool has_usable_text = true;  ///< its variable Text is a valid component of a path
    bool has_usable_name = true;  ///< its name is a valid component of the path of a probed file
  };

  /// Returns the first letter of the IDs of a group. The number of the device follows.
  static char Letter(std::size_t group) { return static_cast<char>('a' + group); }

  explicit Host(TempTree& tree);

  /// Returns the keys of a match for the devices of a group. Their IDs differ from those of all
  /// other groups.
  std::string Match(std::size_t group) const;
  /// Returns a variable whose value comes from the device; "" if the group has none.
  static std::string Text(std::size_t group);

  std::string Churn(Random& random);
  /// Creates and removes one node many times.
  std::string Storm(Random& random);
  std::string RemoveDirectory(Random& random);
  std::string Retarget(Random& random);
  std::string FlipProbe(Random& random);
  /// Only a SIGUSR1 makes sure that these are detected, see TakeNeedsRefresh.
  std::string ChangeList(Random& random);
  std::string ChangeStick(Random& random);

  /// Makes the program that lists devices succeed from now on.
  std::string End() { return lister_.End(); }
  /// Returns whether, since the last call, something has changed that needs a SIGUSR1.
  bool TakeNeedsRefresh();

  /// Returns the devices by ID; IDs of kHostile are without the part for the hostile suffix.
  std::map<std::string, Device> Devices(std::size_t group) const;
  /// Returns whether a device of the group has ever had a node at this host path.
  bool IsNode(std::size_t group, const std::string& path) const;
  const Lister& lister() const { return lister_; }

 private:
  void SetNode(const std::string& path, bool present);
  void SetLink(const std::string& id, const std::string& target);
  void SetState(std::size_t group, std::size_t number, const std::string& state);
  void SetStick(std::size_t number, bool present, const std::string& serial);
  bool IsPresent(std::size_t group, std::size_t number) const;
  bool HasUsableText(std::size_t group, std::size_t number) const;

  TempTree& tree_;
  FakeSysfs sysfs_{tree_};
  Lister lister_;
  bool needs_refresh_ = false;
  std::map<std::string, bool> nodes_;           ///< whether the node exists, by path
  std::map<std::string, std::string> links_;    ///< target by ID; "" if the link does not exist
  std::map<std::string, bool> works_;           ///< by ID
  std::map<std::size_t, std::string> serials_;  ///< of the USB devices that exist
};

/// Returns whether a text from a device is valid as a component of a path.
bool IsPathComponent(const std::string& text);

}  // namespace patchbay::test
