#include "health/probe.h"

#include "health/probe_factory.h"

namespace patchbay {

std::string_view Name(ProbeResult result) {
  switch (result) {
    case ProbeResult::kSuccess: return "success";
    case ProbeResult::kFailure: return "failure";
    case ProbeResult::kTimeout: return "timeout";
    case ProbeResult::kError: return "error";
  }
  return "";
}

ProbeOutcome RunProbe(const ProbeSpec& spec, const Device& device, const ProbeContext& context) {
  const auto start = std::chrono::steady_clock::now();
  const Variables variables = VariablesOf(device, context.resource, context.node_name);
  const ProbeRun run{spec, device, variables, context};
  ProbeOutcome outcome = std::visit([&](const auto& kind) { return Probe(kind, run); }, spec.kind);
  outcome.took = std::chrono::steady_clock::now() - start;
  return outcome;
}

}  // namespace patchbay
