#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "chaos/random.h"
#include "support/temp_tree.h"

namespace patchbay::test {

/// The devices of a host, and what becomes of them: groups of nodes, and one of links to nodes. It
/// knows what is there because it alone changes it.
///
/// Every change says what was done.
class Host {
 public:
  static constexpr std::size_t kGroups = 4;
  /// What finds the devices of a group. Their IDs differ from those of all other groups.
  static std::string Pattern(std::size_t group);

  explicit Host(TempTree& tree);

  std::string Churn(Random& random);
  /// One node comes and goes many times.
  std::string Storm(Random& random);
  std::string RemoveDirectory(Random& random);
  std::string Retarget(Random& random);
  std::string FlipProbe(Random& random);

  /// Whether the file that its probe looks at is as it must be, by the ID of each device there is.
  std::map<std::string, bool> Devices(std::size_t group) const;

 private:
  void SetNode(const std::string& path, bool present);
  void SetLink(const std::string& id, const std::string& target);
  void SetState(const std::string& id, const std::string& state);

  TempTree& tree_;
  std::map<std::string, bool> nodes_;         ///< whether it is there, by path
  std::map<std::string, std::string> links_;  ///< what it leads to, by ID; "" where it is not there
  std::map<std::string, bool> works_;         ///< by ID
};

}  // namespace patchbay::test
