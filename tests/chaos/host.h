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

/// The devices of a host, and what becomes of them, in groups that differ in how they are found. It
/// knows what is there because it alone changes it.
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
    kHostile,  ///< nodes with names as an attacker chooses them
    kSticks,   ///< USB devices whose serial numbers an attacker chooses
    kGroups
  };

  struct Device {
    bool works = true;            ///< the file that its probe reads is as it must be
    bool has_usable_text = true;  ///< its variable Text can be a part of a path
    bool has_usable_name = true;  ///< its name can be a part of the path of a file that is read
  };

  /// With which the IDs of a group begin; the number of the device follows.
  static char Letter(std::size_t group) { return static_cast<char>('a' + group); }

  explicit Host(TempTree& tree);

  /// The keys of a match that finds the devices of a group. Their IDs differ from those of all
  /// other groups.
  std::string Match(std::size_t group) const;
  /// A variable whose value the device decides; "" where the group has none.
  static std::string Text(std::size_t group);

  std::string Churn(Random& random);
  /// One node comes and goes many times.
  std::string Storm(Random& random);
  std::string RemoveDirectory(Random& random);
  std::string Retarget(Random& random);
  std::string FlipProbe(Random& random);
  /// These are noticed for certain only by the next SIGUSR1; see NeedsRefresh.
  std::string ChangeList(Random& random);
  std::string ChangeStick(Random& random);

  /// The program that lists succeeds from now on.
  std::string End() { return lister_.End(); }
  /// Returns whether something has changed since the last call that only a SIGUSR1 shows.
  bool TakeNeedsRefresh();

  /// By ID; of kHostile without what stands for the hostile part of the name.
  std::map<std::string, Device> Devices(std::size_t group) const;
  /// Whether a device of the group has ever had a node at this path of the host.
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
  std::map<std::string, bool> nodes_;         ///< whether it is there, by path
  std::map<std::string, std::string> links_;  ///< what it leads to, by ID; "" where it is not there
  std::map<std::string, bool> works_;         ///< by ID
  std::map<std::size_t, std::string> serials_;  ///< of the sticks that are there
};

/// Whether a text that a device decides may be a part of a path.
bool IsPathComponent(const std::string& text);

}  // namespace patchbay::test
