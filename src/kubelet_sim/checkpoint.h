#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "kubelet_sim/admission.h"

namespace patchbay {

inline constexpr char kCheckpointName[] = "kubelet_internal_checkpoint";

/// What a kubelet remembers over its restarts.
struct Checkpoint {
  std::map<std::string, std::vector<std::string>> registered;  ///< resource to its healthy IDs
  PodDevices pods;
};

/// As the kubelet's JSON, but for the checksum. Names that are not UTF-8 come out mangled, as
/// there.
std::string EncodeCheckpoint(const Checkpoint& checkpoint);
/// Fails with kInvalid for what is not such a JSON.
Result<Checkpoint> DecodeCheckpoint(const std::string& text);

/// Writes a temporary file ".<random>" in the directory, syncs it and renames it to
/// kubelet_internal_checkpoint, as the kubelet does for every list (contract 2.8): it is the noise
/// for whoever watches the directory. May block on the disk.
Status WriteCheckpoint(const std::string& directory, const Checkpoint& checkpoint);
/// An empty checkpoint when the file is absent or corrupt, of which a kubelet only warns.
Checkpoint ReadCheckpoint(const std::string& directory);

}  // namespace patchbay
