#include <iostream>

#include "cli/commands.h"

int main(int argc, char** argv) {
  return patchbay::RunCommandLine(argc, argv, {std::cout, std::cerr});
}
