#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "discovery/command_output.h"
#include "model/snapshot.h"
#include "os/child.h"
#include "os/host_root.h"

namespace patchbay {

/// What a pass over the host leaves for the next one of the same resource. Belongs to one pass at a
/// time.
struct PassMemory {
  struct Command {
    std::optional<CommandList> good;  ///< what it printed last when all was well
    std::string failure;              ///< of the last run; empty if it went well
    bool ran = false;
    UniqueFd left_behind;  ///< see ChildResult
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

/// What a pass goes by, besides the resource and the host.
struct Pass {
  std::string node_name = {};  ///< of the Kubernetes node, for `id` templates
  ResourceSpecs owners = {};   ///< what these find is taken, see OwnersBefore
  /// Whether commands are run again; else what they printed last is good enough.
  bool refresh = true;
  /// Directories, paths of this process, of which no change was heard since before the last pass
  /// began, so that what it saw there still holds.
  std::set<std::string> quiet = {};
  std::string wanted_path = {};  ///< what a report must tell of, however much it leaves out
  bool report = false;           ///< whether to keep account of everything that was seen
  std::shared_ptr<PassMemory> memory = std::make_shared<PassMemory>();
  std::shared_ptr<const Cancellation> cancellation = {};  ///< of commands; may be null
};

/// What a pass did for one match, for people. At most kMost entries of each kind.
struct MatchReport {
  static constexpr std::size_t kMost = 1000;

  /// A directory or another place where candidates were looked for.
  struct Look {
    std::string place;
    std::size_t seen = 0;     ///< how many names
    std::size_t matched = 0;  ///< how many of them fit the pattern
    std::string problem;      ///< why it could not be looked at; empty if it could
  };
  /// Something that was seen and not taken, which is no fault.
  struct Drop {
    std::string what;
    std::string why;
  };
  /// A device that came of it, with the paths of its nodes.
  struct Found {
    std::string id;
    std::vector<std::string> paths;
  };

  std::vector<Look> looks;
  std::vector<Drop> drops;
  std::vector<Found> found;
  std::vector<Rejection> rejected;
  std::size_t left_out = 0;  ///< looks, drops and rejections beyond the bound
};

}  // namespace patchbay
