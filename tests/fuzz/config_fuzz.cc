// Input: a configuration file.
#include "config/load.h"
#include "diagnostics.h"
#include "fuzz.h"

using namespace patchbay;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 8192) return 0;
  const std::string text(fuzz::Text(data, size));
  const Loaded loaded = LoadTexts({{"fuzz.toml", text}});
  fuzz::Require(loaded.model.has_value() != loaded.diagnostics.HasErrors());
  fuzz::RequireDiagnostics(loaded.diagnostics, text);
  if (!loaded.model) return 0;
  for (const ResourceSpec& resource : loaded.model->resources) {
    fuzz::Require(!resource.name.empty() && !resource.matches.empty());
    fuzz::Require(!resource.device_nodes.empty() || !HasNodes(resource));
  }
  return 0;
}
