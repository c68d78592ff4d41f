#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/spec.h"
#include "model/variables.h"
#include "os/subprocess.h"

namespace patchbay {

/// A command line, and the unit or device it runs for.
struct HookCommand {
  std::string id;
  std::vector<std::string> argv;
};

/// A block device of a call, and the unit or device it belongs to.
struct HookDisk {
  std::string id;
  DeviceNode node;
};

/// One call of a hook.
struct HookCall {
  std::string resource = {};
  Hook hook = Hook::kPreStart;
  std::chrono::milliseconds timeout{};  ///< of all commands together
  /// The limit for waiting and running together; nothing: it waits without limit.
  std::optional<std::chrono::milliseconds> patience = {};
  std::set<std::string> devices = {};      ///< the IDs of the devices whose state it changes
  std::vector<HookCommand> commands = {};  ///< none if the resource has no such hook
  std::vector<HookDisk> disks = {};        ///< of the devices that `commands` are for
};

/// Plans the call for the units of a container, or for devices in case of kRelease: the program
/// once for each, in their order, equal command lines once. Fails with kInvalid if a template
/// cannot be rendered. Pure.
Result<HookCall> PlanHook(Hook hook, const ResourceSpec& spec, std::span<const Variables> units);

struct HookOutcome {
  Status status;        ///< kPrecondition and why, of the first command that failed
  std::string id = {};  ///< the unit or device of that command
  std::vector<UniqueFd> left_behind = {};  ///< see SubprocessResult
  /// If opening a disk hangs: readable when it has ended. Otherwise null.
  std::shared_ptr<const UniqueFd> opening = {};
};

/// Runs the commands in parallel, without checking the disks, and blocks until all have ended, or
/// were stopped at `deadline`, which takes two more seconds at most. After a failure no further
/// command starts.
HookOutcome RunHook(const HookCall& call, std::chrono::steady_clock::time_point deadline,
                    const Cancellation& cancellation);

}  // namespace patchbay
