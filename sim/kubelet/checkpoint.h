#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/kubelet/admission.h"

namespace patchbay {

inline constexpr char kCheckpointName[] = "kubelet_internal_checkpoint";

/// The state that a kubelet keeps across restarts.
struct Checkpoint {
  std::map<std::string, std::vector<std::string>> registered;  ///< resource to its healthy IDs
  PodDevices pods;
};

/// Returns the JSON of the kubelet, without its checksum. Like there, bytes that are not UTF-8 are
/// replaced.
std::string EncodeCheckpoint(const Checkpoint& checkpoint);
/// Parses that JSON. Fails with kInvalid.
Result<Checkpoint> DecodeCheckpoint(const std::string& text);

/// Writes a temporary file ".<random>" in the directory, syncs it and renames it to `name`. Can
/// block on the disk. Fails with kUnavailable or kNotFound.
Status WriteStateFile(const std::string& directory, const std::string& name,
                      const std::string& text);
/// Returns the text of a file in the directory; "" if it cannot be read.
std::string ReadStateFile(const std::string& directory, const std::string& name);

/// Writes the checkpoint with WriteStateFile to kubelet_internal_checkpoint. The kubelet does this
/// for every device list, which causes events for processes that watch the directory.
Status WriteCheckpoint(const std::string& directory, const Checkpoint& checkpoint);
/// Reads the checkpoint. Returns an empty one if the file is absent or corrupt, for which a kubelet
/// only logs a warning.
Checkpoint ReadCheckpoint(const std::string& directory);

}  // namespace patchbay
