#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "discovery/command_output.h"
#include "model/snapshot.h"
#include "os/host_root.h"
#include "os/subprocess.h"

namespace patchbay {

/// What a pass over the host leaves for the next one of the same resource. Belongs to one pass at a
/// time.
struct PassMemory {
  struct Command {
    std::optional<CommandList> good;  ///< what it printed last when all was well
    std::string failure;              ///< of the last run; empty if it went well
    bool ran = false;
    UniqueFd left_behind;  ///< see SubprocessResult
  };
  /// What a look into a directory brought, to spare the next pass the same look.
  struct Listing {
    DirectoryStamp stamp;
    std::vector<HostEntry> entries;
  };
  /// Match, directory as it was asked for, and what was wanted of it.
  using ListingKey = std::tuple<std::size_t, std::string, std::string>;

  std::map<std::size_t, Command> commands;  ///< by match
  std::map<ListingKey, Listing> listings;   ///< of the last pass alone
};

/// The nodes that exclusive resources have, by the name of the resource.
using OwnedNodes = std::map<std::string, std::unordered_set<NodeKey, NodeKeyHash>>;

/// What a pass goes by, besides the resource and the host.
struct Pass {
  std::string node_name = {};  ///< of the Kubernetes node, for `id` templates
  ResourceSpecs owners = {};   ///< what these find is taken, see OwnersBefore
  /// What they had in the last pass, which counts while they cannot be looked for; may be null.
  std::shared_ptr<const OwnedNodes> owned_before = {};
  /// Whether to go by `owned_before` alone, since looking for the owners' devices hangs.
  bool skips_owners = false;
  /// Whether commands are run again; else what they printed last is good enough.
  bool refresh = true;
  /// Directories, paths of this process, of which no change was heard since before the last pass
  /// began, so that what it saw there still holds.
  std::set<std::string> quiet = {};
  /// What is listed now, so that a device that has an ID keeps it; null before the first pass.
  std::shared_ptr<const Snapshot> before = {};
  std::string wanted_path = {};  ///< what a report must tell of, however much it leaves out
  bool report = false;           ///< whether to keep account of everything that was seen
  std::shared_ptr<PassMemory> memory = std::make_shared<PassMemory>();
  std::shared_ptr<const Cancellation> cancellation = {};  ///< of commands; may be null
};

/// Why something that was seen is not taken, which is no fault.
enum class DropReason {
  kExcluded,     ///< by `exclude`
  kWrongType,    ///< not the kind of file that the match wants
  kOtherKind,    ///< of another vendor, or no such device at all: hardly what was meant
  kCondition,    ///< sysfs or udev says something else of it than the match
  kMissing,      ///< nothing is there
  kFoundBefore,  ///< by another pattern or match of the resource
  kUnknown,      ///< to sysfs, which the match asks about it
};
/// "excluded", "wrong_type", …
std::string_view Name(DropReason reason);

/// What a pass did for one match, for people. At most kMost entries of each kind.
struct MatchReport {
  static constexpr std::size_t kMost = 1000;

  /// A directory or another place where candidates were looked for.
  struct Look {
    enum class At { kNames, kDevices, kEntries };  ///< of a directory, of sysfs, of a command
    std::string place;
    At at = At::kNames;
    /// What the names were held to: a component of a glob; "**" where all are only walked through;
    /// empty for a regex.
    std::string pattern = {};
    std::size_t seen = 0;      ///< how many there are
    std::size_t matched = 0;   ///< how many of them fit
    std::string problem = {};  ///< why it could not be looked at; empty if it could
    bool is_exclude =
        false;  ///< a pattern of `exclude`; its problem keeps nothing from being found
  };
  /// What can become a device, or could have.
  struct Thing {
    std::string id;                  ///< its ID, or what that would be made of; may be empty
    std::vector<std::string> paths;  ///< of its nodes, else the place it was seen at
    std::string syspath = {};        ///< of a device that was found through sysfs
  };
  struct Rejected : Thing {
    RejectReason reason = RejectReason::kUnreadable;
    std::string detail;
  };
  struct Drop : Thing {
    DropReason reason = DropReason::kExcluded;
    std::string detail;
    std::string numbers = {};  ///< vendor and product of what is of another vendor: "0403:6001"
  };

  std::vector<Look> looks;
  std::vector<Thing> found;  ///< the devices that came of it
  std::vector<Rejected> rejected;
  std::vector<Drop> drops;
  std::size_t left_out = 0;  ///< looks, drops and rejections beyond the bound
};

}  // namespace patchbay
