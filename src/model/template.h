#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/variables.h"

namespace patchbay {

/// A libfmt format string with named arguments: `{card}`, `{slot:02}`, `{{` for a brace. It is
/// compiled when the file is loaded, and rendered once for each device that a container gets.
///
/// Immutable and thread-safe. There are no positional or nested arguments, loops or conditions.
class Template {
 public:
  /// The maximum length of a rendered template in bytes.
  static constexpr std::size_t kMaxResult = 4096;

  /// A `{name:spec}` of the template, and the offset of its name in the text.
  struct Field {
    std::string name;
    std::string spec;
    std::size_t offset = 0;
  };

  Template() = default;
  static Parsed<Template> Compile(std::string_view text);

  /// The position of the value of a field in a rendered text.
  struct Span {
    std::string_view name;  ///< a view into the template
    Origin origin = Origin::kDevice;
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  /// Renders the template. Fails with kInvalid if a variable has no value, its value does not fit
  /// the format, or the result is too long. Does not validate the result; see model/render.h for
  /// paths and names. Appends the positions of the values to `spans` unless it is null.
  Result<std::string> Render(const Variables& variables, std::vector<Span>* spans = nullptr) const;

  const std::vector<Field>& fields() const { return fields_; }
  const std::string& text() const { return text_; }
  /// Templates are equal if their texts are equal.
  bool operator==(const Template& other) const { return text_ == other.text_; }

 private:
  std::string text_;
  std::vector<std::string> literals_;  ///< one before each field and one after the last
  std::vector<Field> fields_;
};

}  // namespace patchbay
