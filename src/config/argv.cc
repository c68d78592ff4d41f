#include "config/argv.h"

#include <string>

namespace patchbay {

bool CheckArgv(const TextList& list, std::string_view example, Reporter& reporter) {
  for (const Text& argument : list.items) {
    if (const auto nul = argument.value.find('\0'); nul != std::string::npos) {
      reporter.Report(Code::kBadCommand, argument.At(nul), "no program can get a NUL byte");
      return false;
    }
  }
  if (!list.items.empty() && !list.items.front().value.empty()) return true;
  reporter.Report(Code::kBadCommand, list.place, "no program is named",
                  "write the program and each argument for itself: " + std::string(example));
  return false;
}

}  // namespace patchbay
