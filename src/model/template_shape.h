#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/template.h"

namespace patchbay {

/// The text of a template with the places of its variables. Before a device is known, one kField
/// byte stands for every value; when rendered, the values themselves. What can be checked of names
/// and paths is checked on this, by the same functions at both times.
struct TemplateShape {
  static constexpr char kField = '\x01';

  std::string text;
  /// Of every byte of `text` in the template; empty where the text was rendered.
  std::vector<std::size_t> offsets;
  std::vector<Template::Span> fields;  ///< in order; no two overlap
};

/// The shape of `compiled`, which must outlive it.
TemplateShape ShapeOf(const Template& compiled);

/// The shape of a text that is no template.
TemplateShape LiteralShape(std::string_view text);

/// The shape with the values of a device. Fails as Template::Render does.
Result<TemplateShape> RenderShape(const Template& compiled, const Variables& variables);

}  // namespace patchbay
