#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "config/toml_writer.h"
#include "model/device.h"
#include "model/snapshot.h"
#include "os/host_root.h"

namespace patchbay {

/// The names of the resources that serve devices, by HostKeysOf.
using ServedNodes = std::map<NodeKey, std::string>;

struct SuggestRequest {
  /// Words, see discovery/named_devices.h; none: all that containers use.
  std::vector<std::string> devices = {};
  std::string directory = "/";  ///< a host path, at which relative paths begin
  ServedNodes served = {};
  bool lists_served = false;  ///< also those that a resource serves
};

/// Adds the devices that a resource lists.
void AddServed(const Snapshot& snapshot, ServedNodes& served);

/// A device, or nodes that containers share, and the entry for it.
struct Suggestion {
  std::string kind = {};                  ///< "serial"
  std::vector<std::string> devices = {};  ///< host paths of its nodes, or its name without a node
  std::string identity = {};              ///< "by its serial number"; "" if others have the same
  std::string served_by = {};             ///< the resource that serves it now, or ""
  std::string danger = {};                ///< why an administrator should decide, or ""
  NewResource entry = {};                 ///< with one match
};

/// A word that names no device.
struct UnknownDevice {
  std::string word, why;
  std::vector<std::string> similar;  ///< names of devices
};

struct Suggestions {
  std::vector<Suggestion> list = {};  ///< ordered by kind
  Notes notes = {};                   ///< for the head of the file
  /// The number of devices that are left out, by the resource that has them.
  std::map<std::string, std::size_t> served = {};
  std::map<std::string, std::size_t> left_out = {};  ///< beyond a limit, by kind
  std::size_t used_disks = 0;                        ///< left out, because the host uses them
  std::vector<UnknownDevice> unknown = {};
};

/// Returns an entry for each device that the host has and containers use, or for those that the
/// request names, whose matches are the shortest. Each match finds one device, also after a
/// restart, see identity.h. Entries of devices that are dangerous or served are comments, with the
/// reason. Reads /sys, udev's database and tables of /proc; may block.
Suggestions Suggest(const HostRoot& host, const SuggestRequest& request = {});

/// Return the suggestions as a file that check accepts, "" if there is nothing to write, and as an
/// array of objects. Text of devices is escaped.
std::string SuggestionsToml(const Suggestions& suggestions);
nlohmann::ordered_json SuggestionsJson(const Suggestions& suggestions);

}  // namespace patchbay
