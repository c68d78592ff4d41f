#include "cli/load.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <ostream>

#include "config/load.h"

namespace patchbay {

std::optional<Model> LoadOrReport(const Arguments& arguments, Streams streams) {
  Loaded loaded = LoadPaths({arguments.config});
  streams.err << loaded.diagnostics.RenderText();
  if (loaded.model) ApplyFlags(arguments, loaded.model->daemon);
  return std::move(loaded.model);
}

std::string NodeName() {
  if (const char* name = std::getenv("NODE_NAME"); name != nullptr && *name != '\0') return name;
  std::array<char, 256> buffer{};
  if (gethostname(buffer.data(), buffer.size() - 1) != 0) return "localhost";
  return buffer.data();
}

}  // namespace patchbay
