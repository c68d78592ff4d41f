#pragma once

#include <string>
#include <string_view>

namespace patchbay {

/// Returns the message of the exception that is being handled, unescaped. Precondition: an
/// exception is being handled.
std::string CurrentExceptionText();

/// Writes the line "patchbay: fatal error: `reason`" to stderr, with `reason` escaped. Blocks for
/// at most one second if stderr does not accept it.
void ReportFatal(std::string_view reason);

/// Installs a std::terminate handler that writes this line before the process aborts, for example
/// when an exception leaves a thread. Like ReportFatal, the handler never hangs.
void ReportFatalOnTerminate();

}  // namespace patchbay
