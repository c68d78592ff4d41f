#include "cli/commands.h"

int main(int argc, char** argv) {
  return patchbay::RunMain(
      [&](patchbay::Streams streams) { return patchbay::RunCommandLine(argc, argv, streams); });
}
