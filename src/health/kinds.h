#pragma once

#include "health/probe.h"
#include "model/variables.h"

namespace patchbay {

/// One run of a probe of any kind.
struct ProbeRun {
  const ProbeSpec& spec;
  const Device& device;
  const Variables& variables;  ///< for its templates
  const ProbeContext& context;
};

/// The kinds of probe, one file each: adding one is a struct in model/spec.h, a function here and a
/// row in the table of keys. How long it took is not theirs to say.
ProbeOutcome Probe(const CommandProbe& probe, const ProbeRun& run);
ProbeOutcome Probe(const OpenProbe& probe, const ProbeRun& run);
ProbeOutcome Probe(const FileProbe& probe, const ProbeRun& run);

}  // namespace patchbay
