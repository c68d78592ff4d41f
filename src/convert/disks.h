#pragma once

#include "config/toml_writer.h"

namespace patchbay {

/// Sets `allow_mounted` in each match that can find a disk, by the kernel's name or by a link: the
/// other plugins advertise disks that the host uses. On any other device it has no effect.
void AllowMountedDisks(NewResource& resource);

}  // namespace patchbay
