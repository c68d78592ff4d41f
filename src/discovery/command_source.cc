#include "base/format.h"
#include "discovery/sources.h"

namespace patchbay {
namespace {

Result<CommandList> Run(const CommandSource& source, const Pass& pass, UniqueFd& left_behind) {
  if (left_behind && !HasEnded(left_behind)) {
    return Fail(ErrorKind::kUnavailable,
                "its last run hangs in the kernel and cannot be killed; it is not run again");
  }
  auto cancellation = pass.cancellation;
  if (cancellation == nullptr) {
    cancellation = std::make_shared<const Cancellation>(TRY(Cancellation::Create()));
  }
  SubprocessSpec child;
  child.argv = source.argv;
  child.timeout = source.timeout;
  child.max_output = kMostCommandOutput;
  SubprocessResult result = RunSubprocess(child, *cancellation);
  left_behind = std::move(result.left_behind);
  if (result.end != SubprocessEnd::kExited || result.code != 0) {
    return Fail(ErrorKind::kUnavailable, Describe(child, result));
  }
  return ParseCommandOutput(result.output);
}

void AddEntry(const CommandEntry& entry, Scan& scan) {
  Candidate candidate;
  candidate.identity = entry.id;
  candidate.device.values = entry.vars;
  candidate.device.numa_node = entry.numa_node;
  for (const std::string& path : entry.paths) {
    auto node = scan.NodeAt(path, nullptr, {});
    if (!node) {
      return scan.Reject(entry.id, RejectReason::kIncomplete,
                         format("{} is not there, or not as the match wants it", path));
    }
    candidate.device.nodes.push_back(std::move(*node));
  }
  scan.AddCandidate(std::move(candidate));
}

}  // namespace

void ScanSource(const CommandSource& source, Scan& scan) {
  PassMemory::Command& memory = scan.command_memory();
  const bool first = !std::exchange(memory.ran, true);
  if (scan.pass().refresh || first) {
    auto list = Run(source, scan.pass(), memory.left_behind);
    memory.failure = list ? "" : list.error().message;
    if (list) memory.good = std::move(*list);
  }
  if (!memory.failure.empty()) {
    scan.SetIncomplete();
    scan.Reject(source.argv.front(), RejectReason::kCommandFailed,
                memory.failure + (memory.good ? "; its last good list stays in force" : ""));
  }
  if (!memory.good) return;
  scan.account().Look({.place = source.argv.front(),
                       .at = MatchReport::Look::At::kEntries,
                       .seen = memory.good->entries.size() + memory.good->problems.size(),
                       .matched = memory.good->entries.size()});
  for (const CommandProblem& problem : memory.good->problems) {
    scan.Reject(problem.id.empty() ? source.argv.front() : problem.id, RejectReason::kCommandFailed,
                problem.message);
  }
  for (const CommandEntry& entry : memory.good->entries) AddEntry(entry, scan);
}

}  // namespace patchbay
