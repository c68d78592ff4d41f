// Input: bytes that select all texts of a device, see support/hostile_host.h.
#include <unistd.h>

#include "fuzz.h"
#include "support/hostile_host.h"

using namespace patchbay;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (geteuid() != 0) return 0;  // device nodes need root
  static test::HostileHost host;
  fuzz::Require(host.Check(test::Choices(fuzz::Text(data, size))).empty());
  return 0;
}
