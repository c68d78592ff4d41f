#include "os/malloc_tuning.h"

#include <malloc.h>

namespace patchbay {

void LimitMallocArenas() {
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_TRIM_THRESHOLD, 128 * 1024);
}

void TrimHeap() { malloc_trim(0); }

}  // namespace patchbay
