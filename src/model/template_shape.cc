#include "model/template_shape.h"

#include <algorithm>

namespace patchbay {
namespace {

// Replaces a kField byte in literal text or in a value, which would look like a field. It is also a
// control character, so the validators treat it the same way.
constexpr char kNoField = '\x02';

void Push(TemplateShape& shape, char c, std::size_t offset) {
  shape.text.push_back(c == TemplateShape::kField ? kNoField : c);
  shape.offsets.push_back(offset);
}

}  // namespace

TemplateShape ShapeOf(const Template& compiled) {
  TemplateShape shape;
  const std::string& text = compiled.text();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{' && text[i + 1] != '{') {
      const std::string& name = compiled.fields()[shape.fields.size()].name;
      shape.fields.push_back({name, OriginOf(name), shape.text.size(), shape.text.size() + 1});
      shape.text.push_back(TemplateShape::kField);
      shape.offsets.push_back(i);
      i = text.find('}', i);
    } else {
      Push(shape, text[i], i);
      if (text[i] == '{' || text[i] == '}') ++i;  // skip the second of a doubled brace
    }
  }
  return shape;
}

TemplateShape LiteralShape(std::string_view text) {
  TemplateShape shape;
  for (std::size_t i = 0; i < text.size(); ++i) Push(shape, text[i], i);
  return shape;
}

Result<TemplateShape> RenderShape(const Template& compiled, const Variables& variables) {
  TemplateShape shape;
  shape.text = TRY(compiled.Render(variables, &shape.fields));
  std::replace(shape.text.begin(), shape.text.end(), TemplateShape::kField, kNoField);
  return shape;
}

}  // namespace patchbay
