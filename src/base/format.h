#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"

namespace patchbay {

/// Format strings use the syntax of libfmt. Code outside `base/` includes libfmt only through this
/// header.
using fmt::format;
using fmt::format_string;

/// The value of a template variable.
using FormatValue = std::variant<std::string_view, std::int64_t>;

/// Formats one value with a libfmt format specification that is known only at run time, such as
/// "02" or ">8". `spec` is the part after the colon. Fails with kInvalid if the specification does
/// not fit the value, requests a width or precision above 9,999, or ends with "?".
Result<std::string> FormatBySpec(std::string_view spec, const FormatValue& value);

}  // namespace patchbay
