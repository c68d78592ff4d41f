#include "model/template.h"

#include <algorithm>

#include "base/diagnostics.h"

namespace patchbay {
namespace {

bool IsNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// Whether `spec` holds a number of more than four digits. As a width it would cost that much
/// memory before anybody could see how long the result is.
bool HoldsLongNumber(std::string_view spec) {
  int digits = 0;
  return std::any_of(spec.begin(), spec.end(), [&](char c) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    return digits > 4;
  });
}

/// Parses `{name:spec}` or `{name}`, whose body (without the braces) stands at `offset`.
Parsed<Template::Field> ParseField(std::string_view body, std::size_t offset) {
  const auto colon = body.find(':');
  const std::string_view name = body.substr(0, colon);
  if (name.empty()) return Malformed(offset, "a variable's name is missing between the braces");
  if (!std::all_of(name.begin(), name.end(), IsNameByte)) {
    return Malformed(offset, format("\"{}\" is not the name of a variable", name));
  }
  if (name.front() >= '0' && name.front() <= '9') {
    return Malformed(offset, "arguments have names here, not positions");
  }
  const auto spec = colon == std::string_view::npos ? "" : body.substr(colon + 1);
  if (spec.find('{') != std::string_view::npos) {
    return Malformed(offset, "a format specification may not hold another variable");
  }
  if (HoldsLongNumber(spec)) {
    return Malformed(offset, format("a width may not be more than {}", Template::kMaxResult));
  }
  return Template::Field{std::string(name), std::string(spec), offset};
}

}  // namespace

Parsed<Template> Template::Compile(std::string_view text) {
  Template compiled;
  compiled.text_ = text;
  std::string literal;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c == '{' || c == '}') && i + 1 < text.size() && text[i + 1] == c) {
      literal.push_back(c);
      ++i;
    } else if (c == '{') {
      const auto close = text.find('}', i);
      if (close == std::string_view::npos) {
        return Malformed(i, "\"{\" is never closed; write \"{{\" for a brace");
      }
      auto field = ParseField(text.substr(i + 1, close - i - 1), i + 1);
      if (!field) return tl::unexpected(std::move(field).error());
      compiled.literals_.push_back(std::move(literal));
      compiled.fields_.push_back(std::move(*field));
      literal.clear();
      i = close;
    } else if (c == '}') {
      return Malformed(i, "\"}\" closes nothing; write \"}}\" for a brace");
    } else {
      literal.push_back(c);
    }
  }
  compiled.literals_.push_back(std::move(literal));
  return compiled;
}

std::vector<SyntaxError> Template::Check(std::span<const Variable> known) const {
  std::vector<SyntaxError> errors;
  for (const Field& field : fields_) {
    const auto variable = std::find_if(known.begin(), known.end(),
                                       [&](const Variable& v) { return v.name == field.name; });
    if (variable == known.end()) {
      std::vector<std::string_view> names;
      for (const Variable& v : known) names.push_back(v.name);
      const auto nearest = Nearest(field.name, names);
      errors.push_back({field.offset,
                        format("no match supplies the variable \"{}\"{}", field.name,
                               nearest.empty() ? "" : format(" (did you mean \"{}\"?)", nearest))});
      continue;
    }
    if (field.spec.empty()) continue;
    const bool integer = variable->type == VariableType::kInteger;
    const auto sample = integer ? FormatValue(std::int64_t{1}) : FormatValue("x");
    if (auto formatted = FormatBySpec(field.spec, sample); !formatted) {
      errors.push_back(
          {field.offset,
           format("the format \"{}\" does not fit \"{}\", which is {}: {}", field.spec, field.name,
                  integer ? "a number" : "text", formatted.error().message)});
    } else if (formatted->size() > kMaxResult) {
      errors.push_back({field.offset, format("the format \"{}\" makes more than {} bytes",
                                             field.spec, kMaxResult)});
    }
  }
  return errors;
}

Result<std::string> Template::Render(const Variables& variables) const {
  if (fields_.empty()) return literals_.empty() ? std::string() : literals_.front();
  std::string out;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    out += literals_[i];
    const Field& field = fields_[i];
    const auto value = variables.Find(field.name);
    if (!value) {
      return Fail(ErrorKind::kInvalid, format("it has no value for \"{}\"", field.name));
    }
    const auto* text = std::get_if<std::string_view>(&*value);
    if (text != nullptr && field.spec.empty()) {
      out += *text;
    } else {
      out += TRY(FormatBySpec(field.spec, *value));
    }
    if (out.size() > kMaxResult) break;
  }
  out += literals_.back();
  if (out.size() > kMaxResult) {
    return Fail(ErrorKind::kInvalid,
                format("\"{}\" becomes longer than {} bytes", text_, kMaxResult));
  }
  return out;
}

}  // namespace patchbay
