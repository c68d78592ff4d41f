#include "health/probe_factory.h"

namespace patchbay {
namespace {

constexpr std::size_t kMaxOutput = 4096;

ProbeResult ResultOf(const SubprocessResult& child) {
  switch (child.end) {
    case SubprocessEnd::kExited:
      return child.code == 0 ? ProbeResult::kSuccess : ProbeResult::kFailure;
    case SubprocessEnd::kSignalled: return ProbeResult::kFailure;
    case SubprocessEnd::kTimedOut: return ProbeResult::kTimeout;
    default: return ProbeResult::kError;
  }
}

}  // namespace

ProbeOutcome Probe(const CommandProbe& probe, const ProbeRun& run) {
  SubprocessSpec child;
  for (const Template& argument : probe.argv) {
    auto text = argument.Render(run.variables);
    if (!text) return {ProbeResult::kError, std::move(text).error().message};
    child.argv.push_back(std::move(*text));
  }
  child.timeout = run.spec.timeout;
  child.max_output = kMaxOutput;
  child.excess = SubprocessSpec::Excess::kDiscard;
  SubprocessResult ended = RunSubprocess(child, *run.context.cancellation);

  ProbeOutcome outcome;
  outcome.result = ResultOf(ended);
  outcome.output = ended.error_output;
  if (!outcome.output.empty() && !outcome.output.ends_with('\n')) outcome.output += '\n';
  outcome.output += ended.output;
  outcome.output.resize(std::min(outcome.output.size(), kMaxOutput));
  if (outcome.result != ProbeResult::kSuccess) {
    outcome.reason = DescribeWithOutput(child, ended);
  }
  outcome.left_behind = std::move(ended.left_behind);
  return outcome;
}

}  // namespace patchbay
