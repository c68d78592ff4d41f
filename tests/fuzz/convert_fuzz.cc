// Input: a configuration of another plugin, which is selected by the length of the input.
#include <algorithm>

#include "config/load.h"
#include "convert/convert.h"
#include "fuzz.h"

using namespace patchbay;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 8192) return 0;
  const std::string text(reinterpret_cast<const char*>(data), size);
  ConvertHints hints;
  hints.needs_helm = true;
  if (size % 4 >= 2) hints.dev = {{"snd", true}, {"snd/timer", false}, {"video0", false}};
  const Conversion conversion =
      Convert(static_cast<ForeignProgram>(size % 2), {"fuzz.yaml", text}, hints);
  fuzz::Require(conversion.toml.has_value() || conversion.diagnostics.HasErrors());
  fuzz::Require(conversion.toml.has_value() == conversion.helm.has_value());
  fuzz::Require(conversion.diagnostics.empty() == conversion.diagnostics.RenderText().empty());
  const auto lines = std::count(text.begin(), text.end(), '\n') + 1;
  for (const Diagnostic& diagnostic : conversion.diagnostics.Sorted()) {
    fuzz::Require(!diagnostic.code.empty() && !diagnostic.message.empty());
    fuzz::Require(diagnostic.place.line >= 0 && diagnostic.place.line <= lines);
  }
  if (conversion.toml) {
    fuzz::Require(LoadTexts({{"patchbay.toml", *conversion.toml}}).model.has_value());
  }
  return 0;
}
