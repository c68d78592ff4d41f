#include "discovery/sources.h"

namespace patchbay {

void ScanSource(const CountSource& source, ScanContext& scan) {
  for (int i = 0; i < source.count; ++i) {
    scan.AddCandidate(Device(), std::to_string(i));
  }
  scan.ReportUnmatched("a count has no devices on the host");
}

}  // namespace patchbay
