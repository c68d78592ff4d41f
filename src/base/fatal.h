#pragma once

#include <string>
#include <string_view>

namespace patchbay {

/// Why the exception that is being handled was thrown, for one line.
std::string CurrentExceptionText();

/// Writes "patchbay: fatal error: `reason`" to stderr. Waits a second at most for whoever reads it.
void ReportFatal(std::string_view reason);

/// Has std::terminate, where an exception leaves a thread, write that line before it aborts, and
/// never hang in it.
void ReportFatalOnTerminate();

}  // namespace patchbay
