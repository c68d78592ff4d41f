#include "base/format.h"
#include "discovery/sources.h"

namespace patchbay {
namespace {

Result<CommandList> Run(const CommandSource& source, const ScanRequest& request,
                        UniqueFd& left_behind) {
  if (left_behind && !HasEnded(left_behind)) {
    return Fail(ErrorKind::kUnavailable,
                "its last run hangs in the kernel and cannot be killed; it is not run again");
  }
  auto cancellation = request.cancellation;
  if (cancellation == nullptr) {
    cancellation = std::make_shared<const Cancellation>(TRY(Cancellation::Create()));
  }
  SubprocessSpec child;
  child.argv = source.argv;
  child.timeout = source.timeout;
  child.max_output = kMaxCommandOutput;
  SubprocessResult result = RunSubprocess(child, *cancellation);
  left_behind = std::move(result.left_behind);
  if (result.end != SubprocessEnd::kExited || result.code != 0) {
    return Fail(ErrorKind::kUnavailable, Describe(child, result));
  }
  auto list = ParseCommandOutput(result.output);
  const bool is_empty = result.output.find_first_not_of(" \t\r\n") == std::string::npos;
  if (list || !is_empty) return list;
  // In a pipeline, the exit code is that of the last program.
  return Fail(ErrorKind::kInvalid, WithErrorLine(list.error().message, result));
}

void AddEntry(const CommandEntry& entry, ScanContext& scan) {
  Device device;
  device.values = entry.vars;
  device.numa_node = entry.numa_node;
  std::string excluded;
  for (const std::string& path : entry.paths) {
    auto node = scan.NodeAt(path, nullptr, {}, &excluded);
    if (!node) {
      return scan.Reject(entry.id, RejectReason::kIncomplete,
                         Format("{} does not exist or does not match", path));
    }
    device.nodes.push_back(std::move(*node));
  }
  if (!excluded.empty()) return scan.AddExcluded(std::move(device), entry.id, std::move(excluded));
  scan.AddCandidate(std::move(device), entry.id, "", entry.unhealthy);
}

}  // namespace

void ScanSource(const CommandSource& source, ScanContext& scan) {
  ScanCache::Command& cache = scan.command_cache();
  const bool first = !std::exchange(cache.ran, true);
  if (scan.request().refresh || first) {
    auto list = Run(source, scan.request(), cache.left_behind);
    cache.failure = list ? "" : list.error().message;
    if (list) cache.good = std::move(*list);
  }
  if (!cache.failure.empty()) {
    scan.SetIncomplete();
    scan.Reject(source.argv.front(), RejectReason::kCommandFailed,
                cache.failure + (cache.good ? "; its last valid list remains in use" : ""));
  }
  if (!cache.good) return;
  scan.report().AddPlace({.place = source.argv.front(),
                          .at = MatchReport::ScannedPlace::At::kEntries,
                          .seen = cache.good->entries.size() + cache.good->problems.size(),
                          .matched = cache.good->entries.size()});
  for (const CommandProblem& problem : cache.good->problems) {
    scan.Reject(problem.id.empty() ? source.argv.front() : problem.id, RejectReason::kCommandFailed,
                problem.message);
  }
  for (const CommandEntry& entry : cache.good->entries) AddEntry(entry, scan);
  scan.ReportUnmatched("the command did not print it");
}

}  // namespace patchbay
