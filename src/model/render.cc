#include "model/render.h"

#include <algorithm>

#include "base/escape.h"
#include "base/format.h"
#include "base/path.h"

namespace patchbay {
namespace {

/// The maximum number of bytes of a template and of a value in a message.
constexpr std::size_t kShownTemplate = 200;
constexpr std::size_t kShownValue = 60;

/// Returns the variable to name for a problem at `offset`: the first one that ends there or later,
/// otherwise the last one.
const Template::Span* FieldAt(const TemplateShape& shape, std::size_t offset) {
  const auto at = std::find_if(shape.fields.begin(), shape.fields.end(),
                               [&](const Template::Span& field) { return field.end >= offset; });
  if (at != shape.fields.end()) return &*at;
  return shape.fields.empty() ? nullptr : &shape.fields.back();
}

Failure BreaksRule(const Template& compiled, const TemplateShape& shape, const SyntaxError& problem,
                   std::string_view what) {
  std::string message =
      Format("{} \"{}\": {}", what, Truncate(compiled.text(), kShownTemplate), problem.message);
  if (const Template::Span* field = FieldAt(shape, problem.offset)) {
    const auto value = std::string_view(shape.text).substr(field->begin, field->end - field->begin);
    message += Format(
        "; {{{}}} is \"{}\" here: use another variable, such as {}, or match only "
        "devices whose value fits",
        field->name, Truncate(value, kShownValue),
        field->name == "id" ? "{index} or {slot}" : "{id}");
  }
  return Fail(ErrorKind::kInvalid, std::move(message));
}

Result<TemplateShape> CheckedShape(const Template& compiled, const Variables& variables,
                                   std::string_view what, Problem (*rule)(const TemplateShape&)) {
  TemplateShape shape = TRY(RenderShape(compiled, variables));
  if (const auto problem = rule(shape)) return BreaksRule(compiled, shape, *problem, what);
  return shape;
}

Problem ProblemWithRenderedEnvName(const TemplateShape& name) {
  if (auto problem = ProblemWithEnvName(name)) return problem;
  if (!IsReservedEnv(name.text)) return std::nullopt;
  return SyntaxError{0, Format("the environment variable {} controls which programs or libraries "
                               "run",
                               name.text)};
}

}  // namespace

Result<std::string> RenderChecked(const Template& compiled, const Variables& variables,
                                  std::string_view what, Problem (*rule)(const TemplateShape&)) {
  return TRY(CheckedShape(compiled, variables, what, rule)).text;
}

Result<std::string> RenderPath(const Template& path, const Variables& variables,
                               std::string_view what, Problem (*rule)(const TemplateShape&)) {
  std::string text = TRY(RenderChecked(path, variables, what, rule));
  if (IsShortestPath(text)) return text;
  std::string shortest = FollowLink("/", text);  // there is no ".."
  return shortest.empty() ? "/" : shortest;
}

Result<std::string> RenderEnvName(const Template& name, const Variables& variables) {
  // The file was rejected if a name without variables breaks a rule.
  if (name.fields().empty()) return name.Render(variables);
  return RenderChecked(name, variables, "the name", ProblemWithRenderedEnvName);
}

}  // namespace patchbay
