#pragma once

#include <string>

#include "model/snapshot.h"

namespace patchbay {

/// Returns the serialized ListMessage of the snapshot. Allocates only the result, where the message
/// would allocate every unit of the resource. Pure.
std::string ListBytes(const Snapshot& snapshot);

}  // namespace patchbay
