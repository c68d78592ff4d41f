// The program patchbay-try: its arguments are those of `patchbay try`.

#include <variant>
#include <vector>

#include "cli/commands.h"
#include "sim/try/try.h"

namespace patchbay {
namespace {

int RunTryProgram(int argc, char** argv, Streams streams) {
  std::vector<const char*> words = {"patchbay", "try"};
  words.insert(words.end(), argv + 1, argv + argc);
  const auto parsed = ParseArguments(static_cast<int>(words.size()), words.data(), streams);
  if (const auto* code = std::get_if<ExitCode>(&parsed)) return *code;
  return RunWithSimulators(std::get<Arguments>(parsed), streams);
}

}  // namespace
}  // namespace patchbay

int main(int argc, char** argv) {
  return patchbay::RunMain(
      [&](patchbay::Streams streams) { return patchbay::RunTryProgram(argc, argv, streams); });
}
