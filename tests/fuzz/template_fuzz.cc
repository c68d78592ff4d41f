// Input: a template, a line end, the value of every text variable.
#include "fuzz.h"
#include "model/template.h"

using namespace patchbay;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 8192) return 0;
  const auto [text, value] = fuzz::TwoParts(data, size);
  const auto compiled = Template::Compile(text);
  if (!compiled) {
    fuzz::Require(compiled.error().offset <= text.size());
    fuzz::Require(!compiled.error().message.empty());
    return 0;
  }
  for (const Template::Field& field : compiled->fields()) {
    fuzz::Require(text.substr(field.offset).starts_with(field.name));
  }
  Device device;
  device.id = value;
  device.nodes.push_back({std::string(value), std::string(value), FileType::kCharacter, 1, 3, {}});
  device.values.emplace_back("card", value);
  Variables variables;
  variables.resource = variables.node_name = variables.id = value;
  variables.device = &device;
  variables.node = &device.nodes.front();
  variables.slot = 7;
  const auto rendered = compiled->Render(variables);
  if (rendered) fuzz::Require(rendered->size() <= Template::kMaxResult);
  return 0;
}
