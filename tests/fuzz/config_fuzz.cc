// Input: a configuration file.
#include <algorithm>

#include "config/load.h"
#include "fuzz.h"

using namespace patchbay;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 8192) return 0;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const Loaded loaded = LoadTexts({{"fuzz.toml", text}});
  fuzz::Require(loaded.model.has_value() != loaded.diagnostics.HasErrors());
  fuzz::Require(loaded.diagnostics.empty() == loaded.diagnostics.RenderText().empty());
  const auto lines = std::count(text.begin(), text.end(), '\n') + 1;
  for (const Diagnostic& diagnostic : loaded.diagnostics.Sorted()) {
    fuzz::Require(!diagnostic.code.empty() && !diagnostic.message.empty());
    fuzz::Require(diagnostic.place.line >= 0 && diagnostic.place.line <= lines);
  }
  if (!loaded.model) return 0;
  for (const ResourceSpec& resource : loaded.model->resources) {
    fuzz::Require(!resource.name.empty() && !resource.matches.empty());
    fuzz::Require(!resource.device_nodes.empty() || !HasNodes(resource));
  }
  return 0;
}
