#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "discovery/command_output.h"
#include "discovery/interface_record.h"
#include "discovery/scan_budget.h"
#include "model/snapshot.h"
#include "os/host_root.h"
#include "os/subprocess.h"

namespace patchbay {

/// The state of a resource that its scans share. Used by one scan at a time.
struct ScanCache {
  struct Command {
    std::optional<CommandList> good;  ///< the output of the last successful run
    std::string failure;              ///< of the last run; empty if it succeeded
    bool ran = false;
    UniqueFd left_behind;  ///< see SubprocessResult
  };

  ScanShare share;
  std::map<std::size_t, Command> commands;  ///< by match
};

/// The device nodes of exclusive resources, by the name of the resource.
using OwnedNodes = std::map<std::string, std::unordered_set<NodeKey, NodeKeyHash>>;

/// The input of a scan, besides the resource and the host.
struct ScanRequest {
  std::string node_name = {};  ///< of the Kubernetes node, for `id` templates
  /// The exclusive resources that have precedence, see ExclusiveResourcesAbove.
  ResourceSpecs exclusive_above = {};
  /// Their nodes in the last scan, used while they cannot be scanned for; may be null.
  std::shared_ptr<const OwnedNodes> owned_before = {};
  /// Use `owned_before` only, because the scan for the devices of `exclusive_above` hangs.
  bool skips_exclusive = false;
  /// Run commands again; otherwise their last output is used.
  bool refresh = true;
  /// The devices listed now; null before the first scan. They keep their IDs, and those that the
  /// scan finds as they were stay the same objects.
  std::shared_ptr<const Snapshot> before = {};
  /// The interfaces of this host that containers have or had, for resources with net_device.
  std::vector<KnownInterface> interfaces = {};
  /// The IDs of devices that pods have for so long that their interfaces should have moved.
  std::set<std::string> held_long = {};
  /// The names of an object on which each match must report: its path, ID or name as requested,
  /// then its other paths and syspaths. The report includes it even if it is truncated.
  std::vector<std::string> wanted = {};
  bool report = false;      ///< report everything that the scan saw
  bool names_found = true;  ///< name the devices in the report, instead of only counting them
  std::shared_ptr<ScanCache> cache = std::make_shared<ScanCache>();
  /// Of all resources whose results are kept.
  std::shared_ptr<ScanBudget> budget = std::make_shared<ScanBudget>();
  std::shared_ptr<const Cancellation> cancellation = {};  ///< of commands; may be null
};

/// Why something that was found is skipped, which is not an error.
enum class DropReason {
  kExcluded,     ///< by `exclude`
  kWrongType,    ///< not the type of file that the match selects
  kOtherKind,    ///< of another vendor, or not such a device at all: probably unintended
  kCondition,    ///< its sysfs or udev values differ from those of the match
  kMissing,      ///< it does not exist
  kFoundBefore,  ///< by another pattern or match of the resource
  kUnknown,      ///< not a sysfs device, which the match requires
  kNoMatch,      ///< the match does not select the object of ScanRequest::wanted
  kNotFound,     ///< the match selects that object, and the scan did not find it
};
/// Returns "excluded", "wrong_type", …
std::string_view Name(DropReason reason);

/// A report about one match of a scan, for explain and match_summary.h. At most kMaxEntries entries
/// of each kind.
struct MatchReport {
  static constexpr std::size_t kMaxEntries = 1000;

  /// A directory or another place that was searched.
  struct ScannedPlace {
    enum class At { kNames, kDevices, kEntries };  ///< of a directory, of sysfs, of a command
    std::string place;
    At at = At::kNames;
    /// The pattern for the names: a component of a glob; "**" if all are descended into; empty for
    /// a regex.
    std::string pattern = {};
    std::size_t seen = 0;      ///< the number of entries
    std::size_t matched = 0;   ///< the number of entries that match
    std::string problem = {};  ///< why it could not be read; empty if it could
    bool is_missing = false;   ///< the problem is that it does not exist
    bool is_exclude =
        false;  ///< a pattern of `exclude`; its problem keeps nothing from being found
  };
  /// A device, or something that could have become one.
  struct Item {
    std::string id;                  ///< its ID or the text for it; may be empty
    std::vector<std::string> paths;  ///< of its nodes; without nodes, where it was found
    std::string syspath = {};        ///< of a device that was found through sysfs

    bool operator==(const Item&) const = default;
  };
  struct Rejected : Item {
    RejectReason reason = RejectReason::kUnreadable;
    std::string detail;
  };
  struct Drop : Item {
    DropReason reason = DropReason::kExcluded;
    std::string detail;
    std::string numbers = {};  ///< its vendor and product if the vendor differs: "0403:6001"
  };

  std::vector<ScannedPlace> scanned;
  std::vector<Item> found;  ///< the devices of the match; empty ones without names_found
  std::vector<Rejected> rejected;
  std::vector<Drop> drops;
  /// Devices for which `not` compared nothing, by the path of their node or in sysfs, and why.
  std::map<std::string, std::string> not_compared;
  std::size_t left_out = 0;  ///< entries beyond the maximum
};

}  // namespace patchbay
