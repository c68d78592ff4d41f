#pragma once

#include "health/probe.h"
#include "model/variables.h"

namespace patchbay {

/// The input of one run of a probe.
struct ProbeRun {
  const ProbeSpec& spec;
  const Device& device;
  const Variables& variables;  ///< for its templates
  const ProbeContext& context;
};

/// Run a probe of each kind, one file per kind. To add a kind, add a struct in model/spec.h, a
/// function here and a row in the table of keys. The caller sets the duration.
ProbeOutcome Probe(const CommandProbe& probe, const ProbeRun& run);
ProbeOutcome Probe(const OpenProbe& probe, const ProbeRun& run);
ProbeOutcome Probe(const FileProbe& probe, const ProbeRun& run);

}  // namespace patchbay
