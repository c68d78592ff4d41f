#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "chaos/host.h"
#include "chaos/random.h"

namespace patchbay::test {

/// What a file of resources says, as values, and what the kubelet must come to have of it.
class Configuration {
 public:
  using Health = std::map<std::string, std::string>;

  struct Resource {
    std::string name;
    std::size_t replicas = 1;
    std::size_t version = 0;  ///< what containers find in the variable VERSION
    std::set<std::size_t> groups;
    enum { kUnprobed, kByFile, kByProgram } probe = kUnprobed;
    bool is_doubted = false;  ///< Unhealthy before the first probe
    /// The kubelet is to ask for preferences: what it is told by registering alone.
    bool is_packed = false;
    bool has_hook = false;
    bool is_exclusive = false;

    std::string Toml(const std::string& host) const;
  };

  /// `host` is where the root of the host is; programs are run from there.
  Configuration(Random& random, std::string host);

  const std::vector<Resource>& resources() const { return resources_; }
  std::string Toml() const;
  /// What the kubelet must have of one of them, by unit.
  Health Listed(const Resource& resource, const Host& host) const;
  bool RunsPrograms() const;
  /// Whether a plugin that served the one can serve the other as it is registered.
  using Registration = std::pair<std::string, bool>;
  std::set<Registration> Registrations() const;
  /// Changes a resource, adds or removes one, or gives it another name. Says which.
  std::string Change(Random& random);

  static constexpr std::size_t kMostResources = 6;

 private:
  /// Whether another resource, the first exclusive one that has the group, keeps it for itself.
  bool IsKeptFrom(const Resource& resource, std::size_t group) const;
  /// A name that no resource has now.
  std::string NewName(Random& random) const;
  std::string Add(Random& random);

  const std::string host_;
  std::vector<Resource> resources_;
};

}  // namespace patchbay::test
