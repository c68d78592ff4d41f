// Input: a CDI file. What can be read is written again and then reads the same.
#include <string_view>

#include "cdi/cdi_spec.h"
#include "fuzz.h"

using namespace patchbay;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto spec = CdiFromJson(fuzz::Text(data, size));
  if (!spec) {
    fuzz::Require(spec.error().kind == ErrorKind::kInvalid && !spec.error().message.empty());
    return 0;
  }
  const auto json = CdiToJson(*spec);
  fuzz::Require(json.has_value());
  const auto again = CdiFromJson(*json);
  fuzz::Require(again && *again == *spec);
  return 0;
}
