#include "model/driver_name.h"

#include "base/ascii.h"
#include "base/escape.h"
#include "base/format.h"
#include "model/object_name.h"

namespace patchbay {

Status CheckDriverName(std::string_view name) {
  if (name.size() > kMaxDriverName) {
    return Fail(ErrorKind::kInvalid,
                Format("the driver name \"{}\" is longer than {} bytes; choose a shorter one",
                       Truncate(name, kMaxDriverName), kMaxDriverName));
  }
  if (!IsDnsSubdomain(name)) {
    return Fail(ErrorKind::kInvalid,
                Format("the driver name \"{}\" is not a valid DNS name; it must consist of "
                       "lowercase letters, digits, \"-\" and \".\", such as patchbay.dev",
                       Printable(name)));
  }
  if (IsDigit(name.front())) {
    return Fail(
        ErrorKind::kInvalid,
        Format("the driver name \"{}\" must begin with a letter, because CDI devices are named "
               "after it; choose a name such as patchbay.dev",
               name));
  }
  return {};
}

}  // namespace patchbay
