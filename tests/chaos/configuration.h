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

/// What a file of resources says, as values, and what the kubelet must come to have of it.
class Configuration {
 public:
  using Health = std::map<std::string, std::string>;

  /// Where the root of the host is, from which programs are run, and what is there.
  struct World {
    std::string root;
    const Host& host;
    const ReleaseProgram& release;
  };

  struct Resource {
    std::string name;
    std::size_t replicas = 1;
    std::size_t version = 0;  ///< what containers find in the variable VERSION
    std::set<std::size_t> groups;
    enum { kUnprobed, kByFile, kByProgram, kByMountedFile } probe = kUnprobed;
    bool is_doubted = false;  ///< Unhealthy before the first probe
    /// The kubelet is to ask for preferences: what it is told by registering alone.
    bool is_packed = false;
    bool has_hook = false;
    /// What the kubelet is told by registering, too: it is to call before a container starts.
    bool has_release = false;
    bool is_exclusive = false;
    /// The path in the container has a variable that the device decides, see Host::Text.
    bool has_text_in_path = false;
    bool is_elsewhere = false;  ///< `on_nodes` has only other nodes
    /// The container, or a hook, needs what lies in these directories.
    Hangs::Places container_needs = {};

    /// Everywhere where something that it uses lies.
    Hangs::Places Needs() const;
    /// What is wrong with what a container got; "" if nothing is.
    std::string WhatIsWrongWith(const v1beta1::ContainerAllocateResponse& response,
                                const Host& host) const;

   private:
    friend class Configuration;
    std::string Toml(const World& world) const;
    std::string ContainerToml() const;
    std::string HookToml(const World& world) const;
    std::string ProbeToml(const std::string& root) const;
    /// Whether it keeps nodes from others: not those that a program lists, which it cannot, and
    /// not those that may hang, since then others would wait for them, too.
    bool IsExclusive() const;
    std::string TextInPath() const;
    Health Listed(const Host& host, std::size_t group) const;
  };

  Configuration(Random& random, World world);

  /// Those that this node has.
  std::vector<Resource> resources() const;
  /// The names of all.
  std::set<std::string> names() const;
  /// The names of those on this node that use something in a directory of Hangs.
  std::map<Hangs::SourceLocation, std::set<std::string>> needs() const;
  /// The names of all that do, wherever.
  std::set<std::string> mounted() const;
  /// The names of those whose hooks wait until the kubelet has said who holds what.
  std::set<std::string> released() const;
  std::string Toml() const;
  /// What the kubelet must have of one of them, by unit.
  Health Listed(const Resource& resource) const;
  bool RunsPrograms() const;
  /// Whether a plugin that served the one can serve the other as it is registered.
  using Registration = std::tuple<std::string, bool, bool>;
  std::set<Registration> Registrations() const;
  /// Whether any configuration may give a container this node of the host.
  static bool MayGive(const std::string& node, const Host& host);
  /// Changes a resource, adds or removes one, or gives it another name. Says which.
  std::string Change(Random& random);
  /// Has a resource on this node use what lies in the directory.
  std::string Use(Hangs::SourceLocation place, Random& random);
  /// Has one resource come to this node, or leave it.
  std::string MoveToOtherNode(Random& random);

  static constexpr std::size_t kMaxResources = 6;

 private:
  /// Whether another resource, the first exclusive one that has the group, keeps it for itself.
  bool IsKeptFrom(const Resource& resource, std::size_t group) const;
  /// A name that no resource has now.
  std::string NewName(Random& random) const;
  std::string Add(Random& random);

  const World world_;
  std::vector<Resource> resources_;
};

}  // namespace patchbay::test
