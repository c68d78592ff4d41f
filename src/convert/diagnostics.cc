#include "convert/diagnostics.h"

#include <utility>

#include "base/format.h"

namespace patchbay {

void Findings::Add(Severity severity, std::string_view code, const SourceLocation& place,
                   std::string message, std::string hint) {
  if (severity == Severity::kError) errors_.push_back({severity, code, place, message, hint});
  if (count_ > kMaxFindings) return;
  if (!known_.insert(Format("{}:{}:{}", place.line, place.column, message)).second) return;
  if (count_++ == kMaxFindings) {
    severity = Severity::kError;
    code = "too-many-findings";
    message = Format("more than {} findings; the rest is not shown", kMaxFindings);
    hint = "fix these first";
  }
  diagnostics_.Add({severity, code, place, std::move(message), std::move(hint)});
}

}  // namespace patchbay
