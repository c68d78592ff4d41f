// Input: a configuration of another plugin, which is selected by the length of the input.
#include "config/load.h"
#include "convert/convert.h"
#include "diagnostics.h"
#include "fuzz.h"

using namespace patchbay;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 8192) return 0;
  const std::string text(fuzz::Text(data, size));
  ConvertHints hints;
  if (size % 4 >= 2) hints.dev = {{"snd", true}, {"snd/timer", false}, {"video0", false}};
  const auto from = static_cast<ForeignProgram>(size % 2);
  const Conversion conversion = Convert(from, {"fuzz.yaml", text}, hints);
  fuzz::Require(conversion.text.has_value() || conversion.diagnostics.HasErrors());
  hints.needs_helm = true;
  const Conversion values = Convert(from, {"fuzz.yaml", text}, hints);
  fuzz::Require(values.text.has_value() || values.diagnostics.HasErrors());
  fuzz::RequireDiagnostics(conversion.diagnostics, text);
  if (conversion.text) {
    fuzz::Require(LoadTexts({{"patchbay.toml", *conversion.text}}).model.has_value());
  }
  return 0;
}
