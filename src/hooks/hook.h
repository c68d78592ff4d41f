#pragma once

#include <chrono>
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

/// A program that is run, and for which unit or device.
struct HookCommand {
  std::string id;
  std::vector<std::string> argv;
};

/// What one call of a hook comes to.
struct HookCall {
  std::string resource = {};
  Hook hook = Hook::kPreStart;
  std::chrono::milliseconds timeout{};  ///< of all commands together
  /// With the time that it waits for its turn; nothing: it waits as long as it takes.
  std::optional<std::chrono::milliseconds> patience = {};
  std::set<std::string> devices = {};      ///< whose state it changes, by their IDs
  std::vector<HookCommand> commands = {};  ///< none where the resource has no such hook
};

/// The call for what a container gets, or of kRelease for devices: the program once for each, in
/// their order, and equal commands once. Fails with kInvalid when a template cannot be rendered.
Result<HookCall> PlanHook(Hook hook, const ResourceSpec& spec, std::span<const Variables> units);

struct HookOutcome {
  Status status;        ///< kPrecondition and why, of the first command that failed
  std::string id = {};  ///< the unit or device of that command
  std::vector<UniqueFd> left_behind = {};  ///< see SubprocessResult
};

/// Runs the commands side by side, and blocks until all have ended or were stopped at `deadline`,
/// two seconds more at most. After a failure no further one is begun.
HookOutcome RunHook(const HookCall& call, std::chrono::steady_clock::time_point deadline,
                    const Cancellation& cancellation);

}  // namespace patchbay
