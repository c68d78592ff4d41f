#include "model/template.h"

#include <algorithm>

#include "base/ascii.h"

namespace patchbay {
namespace {

bool IsNameByte(char c) { return IsAlnum(c) || c == '_'; }

/// Parses the body of `{name:spec}` or `{name}`, without the braces, which begins at `offset`.
Parsed<Template::Field> ParseField(std::string_view body, std::size_t offset) {
  const auto colon = body.find(':');
  const std::string_view name = body.substr(0, colon);
  if (name.empty()) return Malformed(offset, "a variable's name is missing between the braces");
  if (!std::all_of(name.begin(), name.end(), IsNameByte)) {
    return Malformed(offset, Format("\"{}\" is not the name of a variable", name));
  }
  if (IsDigit(name.front())) {
    return Malformed(offset, "use variable names, not positions");
  }
  const auto spec = colon == std::string_view::npos ? "" : body.substr(colon + 1);
  if (spec.find('{') != std::string_view::npos) {
    return Malformed(offset, "a format specification cannot contain a variable");
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
        return Malformed(i, "\"{\" is not closed; write \"{{\" for a literal brace");
      }
      auto field = ParseField(text.substr(i + 1, close - i - 1), i + 1);
      if (!field) return tl::unexpected(std::move(field).error());
      compiled.literals_.push_back(std::move(literal));
      compiled.fields_.push_back(std::move(*field));
      literal.clear();
      i = close;
    } else if (c == '}') {
      return Malformed(i, "\"}\" is unmatched; write \"}}\" for a literal brace");
    } else {
      literal.push_back(c);
    }
  }
  compiled.literals_.push_back(std::move(literal));
  return compiled;
}

Result<std::string> Template::Render(const Variables& variables, std::vector<Span>* spans) const {
  if (fields_.empty()) return literals_.empty() ? std::string() : literals_.front();
  std::string out;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    out += literals_[i];
    const Field& field = fields_[i];
    const auto found = variables.Lookup(field.name);
    if (!found) {
      return Fail(ErrorKind::kInvalid, Format("no value for \"{}\"", field.name));
    }
    const std::size_t begin = out.size();
    const auto* text = std::get_if<std::string_view>(&found->value);
    if (text != nullptr && field.spec.empty()) {
      out += *text;
    } else {
      out += TRY(FormatBySpec(field.spec, found->value));
    }
    if (spans != nullptr) spans->push_back({field.name, found->origin, begin, out.size()});
    if (out.size() > kMaxResult) break;
  }
  out += literals_.back();
  if (out.size() > kMaxResult) {
    return Fail(ErrorKind::kInvalid,
                Format("\"{}\" renders to more than {} bytes", text_, kMaxResult));
  }
  return out;
}

}  // namespace patchbay
