#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/template.h"

namespace patchbay {

/// The text of a template and the positions of its variables. Before a device is known, one kField
/// byte stands for each value; after rendering, the text contains the values. The functions of
/// model/validators.h check names and paths in both states.
struct TemplateShape {
  static constexpr char kField = '\x01';

  std::string text;
  /// For each byte of `text`, its offset in the template; empty if the text was rendered.
  std::vector<std::size_t> offsets;
  std::vector<Template::Span> fields;  ///< by position; they do not overlap
};

/// Returns the shape of `compiled` before rendering. `compiled` must outlive the shape.
TemplateShape ShapeOf(const Template& compiled);

/// Returns the shape of a text without variables.
TemplateShape LiteralShape(std::string_view text);

/// Returns the shape with the values of a device. Fails like Template::Render. `compiled` must
/// outlive the shape.
Result<TemplateShape> RenderShape(const Template& compiled, const Variables& variables);

}  // namespace patchbay
