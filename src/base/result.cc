#include "base/result.h"

#include <cerrno>
#include <cstring>

namespace patchbay {

Failure FailErrno(std::string_view what, int error) {
  const bool absent = error == ENOENT || error == ENOTDIR;
  return Fail(absent ? ErrorKind::kNotFound : ErrorKind::kUnavailable,
              std::string(what) + ": " + std::strerror(error));
}

}  // namespace patchbay
