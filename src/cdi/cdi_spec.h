#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace patchbay {

/// A file of the Container Device Interface as plain values, with the fields that Patchbay uses
/// (github.com/cncf-tags/container-device-interface, SPEC.md and schema/). Pure functions.

struct CdiDeviceNode {
  std::string path;         ///< in the container
  std::string host_path;    ///< empty: the same as `path`
  std::string permissions;  ///< a subset of "rwm" in this order, not empty
  /// 'c' or 'b': the node gets these numbers, this owner and these permissions. 0: the runtime
  /// reads the numbers from the host, and gives the node to the user of the container.
  char type = 0;
  unsigned major = 0;
  unsigned minor = 0;
  std::uint32_t mode = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  bool operator==(const CdiDeviceNode&) const = default;
};

struct CdiMount {
  std::string host_path;
  std::string container_path;
  std::vector<std::string> options = {};  ///< of mount(8): "ro", "bind"
  bool operator==(const CdiMount&) const = default;
};

/// A program that the runtime runs on the host for each start of the container, in the stage
/// createRuntime: its namespaces exist, and its processes do not.
struct CdiHook {
  std::string path;               ///< of the program, on the host
  std::vector<std::string> args;  ///< the first one is the name of the program
  int timeout_s = 0;
  bool operator==(const CdiHook&) const = default;
};

/// The changes to a container.
struct CdiEdits {
  std::map<std::string, std::string> env = {};
  std::vector<CdiDeviceNode> device_nodes = {};
  std::vector<CdiMount> mounts = {};
  std::vector<CdiHook> hooks = {};
  std::vector<std::uint32_t> additional_gids = {};  ///< supplementary groups; never 0
  bool operator==(const CdiEdits&) const = default;
};

struct CdiDevice {
  std::string name;
  CdiEdits edits = {};
  bool operator==(const CdiDevice&) const = default;
};

struct CdiSpec {
  std::string kind;  ///< "vendor.com/class"
  std::vector<CdiDevice> devices;
  bool operator==(const CdiSpec&) const = default;
};

/// The maximum size of a file in bytes, for writing and reading. One claim can have 32 devices.
inline constexpr std::size_t kMaxCdiBytes = 8 << 20;

/// Returns the name by which a runtime is asked for a device: "vendor.com/class=name".
std::string QualifiedCdiName(std::string_view kind, std::string_view device);

/// Returns the lowest version of the format that has all fields of the spec. A runtime rejects the
/// whole file if its version is lower, or higher than the runtime knows.
std::string_view CdiVersionOf(const CdiSpec& spec);

/// Returns the text of the file; equal specs have equal texts. Names, paths and texts are those of
/// a response of Allocate, which are valid. Fails with kInvalid if the text is longer than
/// kMaxCdiBytes.
Result<std::string> CdiToJson(const CdiSpec& spec);

/// Reads a text of CdiToJson. Fails with kInvalid for one that lacks a member or has a wrong type.
Result<CdiSpec> CdiFromJson(std::string_view json);

}  // namespace patchbay
