// Input: the state of a container, as patchbay-net reads it.
#include "fuzz.h"
#include "net/container_state.h"

using namespace patchbay;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto state = ParseContainerState(fuzz::Text(data, size));
  if (!state) return 0;
  fuzz::Require(state->pid > 0 && state->pid <= 4194304);
  fuzz::Require(state->id.size() <= 128);
  for (const char c : state->id) fuzz::Require(c > ' ' && c != '/' && c != '"' && c < 0x7f);
  return 0;
}
