#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/variables.h"

namespace patchbay {

/// A libfmt format string with named arguments: `{card}`, `{slot:02}`, `{{` for a brace. Compiled
/// when the file is loaded, rendered once for each device a container gets.
///
/// Immutable and thread-safe. There are no positional or nested arguments, loops or conditions.
class Template {
 public:
  /// No value and no result may be longer than this, whatever a device is called.
  static constexpr std::size_t kMaxResult = 4096;

  /// A `{name:spec}` of the template and where it stands.
  struct Field {
    std::string name;
    std::string spec;
    std::size_t offset = 0;
  };

  Template() = default;
  static Parsed<Template> Compile(std::string_view text);

  /// The value of a field in a rendered text.
  struct Span {
    std::string_view name;  ///< a view of the template
    Origin origin = Origin::kDevice;
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  /// Fails with kInvalid when a variable has no value or the result is too long. The result is held
  /// to no rule: for paths and names see model/render.h. Tells in `spans`, unless it is null, where
  /// the values are.
  Result<std::string> Render(const Variables& variables, std::vector<Span>* spans = nullptr) const;

  const std::vector<Field>& fields() const { return fields_; }
  const std::string& text() const { return text_; }
  /// Templates are equal when their texts are.
  bool operator==(const Template& other) const { return text_ == other.text_; }

 private:
  std::string text_;
  std::vector<std::string> literals_;  ///< one before each field and one after the last
  std::vector<Field> fields_;
};

}  // namespace patchbay
