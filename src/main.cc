#include <unistd.h>

#include <iostream>

#include "base/color.h"
#include "base/fatal.h"
#include "cli/commands.h"
#include "os/descriptors.h"

int main(int argc, char** argv) {
  patchbay::OpenStandardDescriptors();
  patchbay::ReportFatalOnTerminate();
  try {
    return patchbay::RunCommandLine(argc, argv,
                                    {std::cout, std::cerr, patchbay::WantsColor(STDOUT_FILENO),
                                     patchbay::WantsColor(STDERR_FILENO)});
  } catch (...) {
    patchbay::ReportFatal(patchbay::CurrentExceptionText());
    return patchbay::kFailed;
  }
}
