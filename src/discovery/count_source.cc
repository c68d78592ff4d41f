#include "discovery/sources.h"

namespace patchbay {

void ScanSource(const CountSource& source, Scan& scan) {
  for (int i = 0; i < source.count; ++i) {
    scan.AddCandidate({{}, std::to_string(i)});
  }
}

}  // namespace patchbay
