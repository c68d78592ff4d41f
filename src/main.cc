#include <iostream>

#include "base/fatal.h"
#include "cli/commands.h"
#include "os/descriptors.h"

int main(int argc, char** argv) {
  patchbay::OpenStandardDescriptors();
  patchbay::ReportFatalOnTerminate();
  try {
    return patchbay::RunCommandLine(argc, argv, {std::cout, std::cerr});
  } catch (...) {
    patchbay::ReportFatal(patchbay::CurrentExceptionText());
    return patchbay::kFailed;
  }
}
