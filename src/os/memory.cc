#include "os/memory.h"

#include <malloc.h>

namespace patchbay {

void FavorSmallMemory() {
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_TRIM_THRESHOLD, 128 * 1024);
}

void ReleaseFreeMemory() { malloc_trim(0); }

}  // namespace patchbay
