#include "network/net_program.h"

#include <cstddef>

extern "C" const char patchbay_net_begin[], patchbay_net_end[];  // NOLINT(*-c-arrays)

namespace patchbay {

std::string_view NetProgram() {
  return {patchbay_net_begin, static_cast<std::size_t>(patchbay_net_end - patchbay_net_begin)};
}

}  // namespace patchbay
