#include "cli/probe_once.h"

#include <algorithm>
#include <sstream>

#include "base/escape.h"
#include "base/format.h"
#include "cli/table.h"
#include "health/prober.h"
#include "os/asio_loop.h"

namespace patchbay {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string TookText(std::chrono::nanoseconds took) {
  return Format("{:.1f} ms", std::chrono::duration<double, std::milli>(took).count());
}

/// Returns whether the reason contains every line of the output.
bool HasAllOf(const std::string& reason, const std::string& output) {
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (reason.find(Printable(line)) == std::string::npos) return false;
  }
  return true;
}

/// Formats the lines of an output below a heading, with terminal escapes.
std::string OutputText(const std::string& heading, const std::string& output) {
  std::string text = Format("\n{}\n", Printable(heading));
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) text += Format("  {}\n", Printable(line));
  return text;
}

}  // namespace

ProbeOutcomes ProbeAll(const std::vector<Inspection>& inspections, const DaemonSpec& daemon,
                       const std::string& node_name,
                       const std::shared_ptr<const Cancellation>& cancellation) {
  AsioLoop loop;
  ProbePool pool(loop, daemon.max_probes);
  ProbeOutcomes outcomes;
  std::size_t awaited = 0;
  for (const Inspection& inspection : inspections) {
    const auto& spec = inspection.snapshot->spec;
    if (!spec->health) continue;
    const ProbeContext context{spec->name, node_name, HostRoot(daemon.host_root), cancellation};
    for (const ListedDevice& listed : inspection.snapshot->devices) {
      ++awaited;
      pool.Run(
          {spec->name, listed.device->id}, PatienceFor(*spec->health),
          [spec, device = listed.device, context] {
            return RunProbe(*spec->health, *device, context);
          },
          [&, key = std::pair(spec->name, listed.device->id)](ProbeOutcome outcome) {
            // A probe that timed out can report a second time when it ends.
            if (outcomes.try_emplace(key, std::move(outcome)).second && --awaited == 0) loop.Stop();
          });
    }
  }
  if (awaited > 0) loop.Run();
  return outcomes;
}

bool AllWork(const ProbeOutcomes& outcomes) {
  return std::all_of(outcomes.begin(), outcomes.end(), [](const auto& outcome) {
    return outcome.second.result == ProbeResult::kSuccess;
  });
}

std::string ProbeText(const std::vector<Inspection>& inspections, const ProbeOutcomes& outcomes,
                      bool colored) {
  Rows rows = {{"RESOURCE", "DEVICE", "PROBE", "TOOK", "REASON"}};
  std::string printed;
  for (const Inspection& inspection : inspections) {
    const std::string& name = inspection.snapshot->spec->name;
    if (inspection.snapshot->devices.empty()) rows.push_back({name, "(none)"});
    for (const ListedDevice& listed : inspection.snapshot->devices) {
      const auto found = outcomes.find({name, listed.device->id});
      if (found == outcomes.end()) {
        rows.push_back(
            {name, listed.device->id, "-", "-", "the resource has no [resource.health]"});
        continue;
      }
      const ProbeOutcome& outcome = found->second;
      rows.push_back({name, listed.device->id, std::string(Name(outcome.result)),
                      TookText(outcome.took), outcome.reason});
      if (!HasAllOf(outcome.reason, outcome.output)) {
        printed += OutputText(Format("{} {} printed:", name, listed.device->id), outcome.output);
      }
    }
  }
  return RenderTable(rows, colored) + printed;
}

}  // namespace patchbay
