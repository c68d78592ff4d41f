#include "base/fatal.h"

#include <unistd.h>

#include <cstdlib>
#include <exception>

#include "base/escape.h"
#include "base/write_within.h"

namespace patchbay {

std::string CurrentExceptionText() {
  try {
    throw;
  } catch (const std::exception& exception) {
    return exception.what();
  } catch (...) {
    return "unknown exception";
  }
}

void ReportFatal(std::string_view reason) {
  WriteWithin(STDERR_FILENO, "patchbay: fatal error: " + Printable(reason) + "\n",
              std::chrono::seconds(1));
}

void ReportFatalOnTerminate() {
  std::set_terminate([] {
    ReportFatal(std::current_exception() ? CurrentExceptionText() : "terminated");
    std::abort();
  });
}

}  // namespace patchbay
