#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "os/unique_fd.h"

namespace patchbay::bench {

/// A process of this program with another role.
struct Child {
  pid_t pid;
  UniqueFd stdio;  ///< the other end of its stdin and stdout
};

/// Starts this program with the arguments. Exits if that fails.
Child StartChild(std::vector<std::string> arguments);

}  // namespace patchbay::bench
