#include "base/escape.h"
#include "base/format.h"
#include "health/kinds.h"

namespace patchbay {
namespace {

constexpr std::size_t kMostOutput = 4096;
constexpr std::size_t kMostShown = 400;

ProbeResult ResultOf(const ChildResult& child) {
  switch (child.end) {
    case ChildEnd::kExited: return child.code == 0 ? ProbeResult::kSuccess : ProbeResult::kFailure;
    case ChildEnd::kSignalled: return ProbeResult::kFailure;
    case ChildEnd::kTimedOut: return ProbeResult::kTimeout;
    default: return ProbeResult::kError;
  }
}

/// The first lines as one: "no card; see dmesg".
std::string OneLine(std::string_view output) {
  std::string line;
  while (!output.empty() && line.size() < kMostShown) {
    const auto end = output.find('\n');
    std::string_view part = output.substr(0, end);
    while (part.ends_with(' ') || part.ends_with('\r')) part.remove_suffix(1);
    if (!part.empty()) line.append(line.empty() ? "" : "; ").append(part);
    output.remove_prefix(end == std::string_view::npos ? output.size() : end + 1);
  }
  return Excerpt(line, kMostShown);
}

}  // namespace

ProbeOutcome Probe(const CommandProbe& probe, const ProbeRun& run) {
  ChildSpec child;
  for (const Template& argument : probe.argv) {
    auto text = argument.Render(run.variables);
    if (!text) return {ProbeResult::kError, std::move(text).error().message};
    child.argv.push_back(std::move(*text));
  }
  child.timeout = run.spec.timeout;
  child.most_output = kMostOutput;
  child.excess = ChildSpec::Excess::kDiscard;
  ChildResult ended = RunChild(child, *run.context.cancellation);

  ProbeOutcome outcome;
  outcome.result = ResultOf(ended);
  outcome.output = ended.error_output + ended.output;
  outcome.output.resize(std::min(outcome.output.size(), kMostOutput));
  if (outcome.result != ProbeResult::kSuccess) {
    outcome.reason = DescribeEnd(child, ended);
    if (const std::string said = OneLine(outcome.output); !said.empty()) {
      outcome.reason += ": " + said;
    }
  }
  outcome.left_behind = std::move(ended.left_behind);
  return outcome;
}

}  // namespace patchbay
