#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/result.h"

namespace patchbay {

/// Returns the text of a libfmt format string, which the compiler checks. It has a name of its own
/// because the arguments make std::format visible wherever the standard library has it. Code
/// outside `base/` includes libfmt only through this header.
template <typename... Args>
std::string Format(fmt::format_string<Args...> text, Args&&... args) {
  return fmt::format(text, std::forward<Args>(args)...);
}

/// The value of a template variable.
using FormatValue = std::variant<std::string_view, std::int64_t>;

/// Formats one value with a libfmt format specification that is known only at run time, such as
/// "02" or ">8". `spec` is the part after the colon. Fails with kInvalid if the specification does
/// not fit the value, requests a width or precision above 9,999, or ends with "?".
Result<std::string> FormatBySpec(std::string_view spec, const FormatValue& value);

}  // namespace patchbay
