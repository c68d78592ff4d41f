#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "chaos/hangs.h"
#include "chaos/host.h"
#include "chaos/random.h"
#include "chaos/release_program.h"
#include "deviceplugin.pb.h"

namespace patchbay::test {

/// The resources of the configuration as values, and the state that the kubelet must eventually
/// have with them.
class Configuration {
 public:
  using Health = std::map<std::string, std::string>;

  /// The root directory of the host, and what it contains.
  struct World {
    std::string root;
    const Host& host;
    const ReleaseProgram& release;
  };

  struct Resource {
    std::string name;
    std::size_t replicas = 1;
    std::size_t version = 0;  ///< the value of the environment variable VERSION of containers
    std::set<std::size_t> groups;
    enum { kUnprobed, kByFile, kByProgram, kByMountedFile } probe = kUnprobed;
    bool is_doubted = false;  ///< Unhealthy before the first probe
    /// The kubelet must call GetPreferredAllocation. Only a registration can change that.
    bool is_packed = false;
    bool has_hook = false;
    /// The kubelet must call PreStartContainer. Only a registration can change that, too.
    bool has_release = false;
    bool is_exclusive = false;
    /// The path in the container contains a variable with a value of the device, see Host::Text.
    bool has_text_in_path = false;
    bool is_elsewhere = false;  ///< `on_nodes` has only other nodes
    /// The directories that have files for the container or a hook.
    Hangs::Places container_needs = {};

    /// Returns all directories that have something that the resource uses.
    Hangs::Places Needs() const;
    /// Returns the error in the response for a container; "" if it is correct.
    std::string FindErrorsIn(const v1beta1::ContainerAllocateResponse& response,
                             const Host& host) const;

   private:
    friend class Configuration;
    std::string Toml(const World& world) const;
    std::string ContainerToml() const;
    std::string HookToml(const World& world) const;
    std::string ProbeToml(const std::string& root) const;
    /// Returns whether the resource is exclusive. It never is if a program lists its nodes, because
    /// that is not supported, or if they are on a file system that may hang, because then others
    /// would depend on it, too.
    bool IsExclusive() const;
    std::string TextInPath() const;
    Health Listed(const Host& host, std::size_t group) const;
  };

  Configuration(Random& random, World world);

  /// Returns the resources that are for this node.
  std::vector<Resource> resources() const;
  /// Returns the names of all resources.
  std::set<std::string> names() const;
  /// Returns the names of the resources for this node that use a directory of Hangs, by directory.
  std::map<Hangs::SourceLocation, std::set<std::string>> needs() const;
  /// Returns the names of all resources that use a directory of Hangs, for any node.
  std::set<std::string> mounted() const;
  /// Returns the names of the resources whose hooks wait for the device usage from the kubelet.
  std::set<std::string> released() const;
  std::string Toml() const;
  /// Returns the list that the kubelet must have of a resource, by unit.
  Health Listed(const Resource& resource) const;
  bool RunsPrograms() const;
  /// The properties that are part of a registration. A change of another one must not cause a new
  /// registration.
  using Registration = std::tuple<std::string, bool, bool>;
  std::set<Registration> Registrations() const;
  /// Returns whether any configuration may give this host node to a container.
  static bool MayGive(const std::string& node, const Host& host);
  /// Changes, adds, removes or renames a resource. Returns what was done.
  std::string Change(Random& random);
  /// Makes a resource on this node use the directory. Returns what was done.
  std::string Use(Hangs::SourceLocation place, Random& random);
  /// Moves a resource to this node or away from it. Returns what was done.
  std::string MoveToOtherNode(Random& random);

  static constexpr std::size_t kMaxResources = 6;

 private:
  /// Returns whether another resource owns the group: the first exclusive one that selects it.
  bool IsKeptFrom(const Resource& resource, std::size_t group) const;
  /// Returns a name that no resource has.
  std::string NewName(Random& random) const;
  std::string Add(Random& random);

  const World world_;
  std::vector<Resource> resources_;
};

}  // namespace patchbay::test
