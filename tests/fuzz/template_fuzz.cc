// Input: a template, a line end, and the value of every text variable.
#include <algorithm>

#include "base/ascii.h"
#include "base/escape.h"
#include "base/path.h"
#include "fuzz.h"
#include "model/render.h"

using namespace patchbay;

namespace {

/// Returns the components of a path without ".".
std::vector<std::string_view> Parts(std::string_view path) {
  std::vector<std::string_view> parts = SplitPath(path);
  std::erase(parts, ".");
  return parts;
}

/// Checks that for any value, a path stays below the literal text before its first variable, and
/// the value of a device is a single component of the path.
void CheckPath(const Template& compiled, const Variables& variables) {
  TemplateShape shape = ShapeOf(compiled);
  // Without the scope of a resource, the origin of a named group is not known and so kDevice.
  for (Template::Span& field : shape.fields) field.origin = variables.Lookup(field.name)->origin;
  const auto path = RenderPath(compiled, variables, "path");
  if (ProblemWithPath(shape)) fuzz::Require(!path);
  if (!path) {
    fuzz::Require(!path.error().message.empty());
    return;
  }
  fuzz::Require(*path == "/" || IsShortestPath(*path));
  fuzz::Require(IsUtf8(*path));
  fuzz::Require(std::none_of(path->begin(), path->end(), IsControl));
  const std::size_t first = shape.fields.empty() ? shape.text.size() : shape.fields.front().begin;
  const auto literal = std::string_view(shape.text).substr(0, first);
  const auto prefix = Parts(literal.substr(0, literal.rfind('/') + 1));
  const auto parts = Parts(*path);
  fuzz::Require(parts.size() >= prefix.size());
  fuzz::Require(std::equal(prefix.begin(), prefix.end(), parts.begin()));
  const bool is_of_device =
      std::all_of(shape.fields.begin(), shape.fields.end(), [&](const Template::Span& field) {
        return variables.Lookup(field.name)->origin == Origin::kDevice;
      });
  if (is_of_device) fuzz::Require(parts.size() == Parts(shape.text).size());
}

void CheckNames(const Template& compiled, const Variables& variables) {
  // A name without variables is only checked when the file is read.
  const bool is_literal = compiled.fields().empty();
  const bool is_accepted = !ProblemWithEnvName(ShapeOf(compiled));
  if (const auto name = RenderEnvName(compiled, variables); name && (is_accepted || !is_literal)) {
    fuzz::Require(is_accepted);
    fuzz::Require(!name->empty() && !IsDigit(name->front()));
    fuzz::Require(
        std::all_of(name->begin(), name->end(), [](char c) { return IsAlnum(c) || c == '_'; }));
    const bool is_reserved = *name == "PATH" || *name == "BASH_ENV" || name->starts_with("LD_");
    fuzz::Require(!is_reserved || is_literal);
  }
  const auto is_name_byte = [](char c) {
    return IsAlnum(c) || std::string_view("-_.:/=").find(c) != std::string_view::npos;
  };
  if (const auto key = RenderChecked(compiled, variables, "key", ProblemWithAnnotationKey)) {
    fuzz::Require(std::all_of(key->begin(), key->end(), is_name_byte));
    fuzz::Require(std::count(key->begin(), key->end(), '/') <= 1 && key->size() <= 253 + 1 + 63);
    fuzz::Require(!ProblemWithAnnotationKey(ShapeOf(compiled)));
  }
  if (const auto name = RenderChecked(compiled, variables, "name", ProblemWithCdiName)) {
    fuzz::Require(std::all_of(name->begin(), name->end(), is_name_byte));
    fuzz::Require(std::count(name->begin(), name->end(), '=') == 1);
    fuzz::Require(compiled.text().ends_with("=all") || !name->ends_with("=all"));
    fuzz::Require(!ProblemWithCdiName(ShapeOf(compiled)));
  }
}

}  // namespace

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
  // Discovery only finds nodes with a normalized path.
  std::string path = "/dev/" + std::string(value);
  if (!IsShortestPath(path) || !IsUtf8(path)) path = "/dev/x";
  Device device;
  device.id = "card-7";
  device.nodes.push_back({path, path, FileType::kCharacter, 1, 3});
  device.nodes.front().captures.emplace_back("group", std::string(value));
  device.values.emplace_back("card", std::string(value));
  Variables variables;
  variables.resource = "example.com/card";
  variables.node_name = "node-1";
  variables.id = device.id;
  variables.device = &device;
  variables.node = &device.nodes.front();
  variables.slot = 7;
  std::vector<Template::Span> spans;
  const auto rendered = compiled->Render(variables, &spans);
  if (!rendered) return 0;
  fuzz::Require(rendered->size() <= Template::kMaxResult);
  fuzz::Require(spans.size() == compiled->fields().size());
  for (const Template::Span& span : spans) fuzz::Require(span.end <= rendered->size());
  CheckPath(*compiled, variables);
  CheckNames(*compiled, variables);
  return 0;
}
