#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"

namespace patchbay {

/// Format strings are those of libfmt, which only this header names.
using fmt::format;
using fmt::format_string;

/// Anything a template variable can hold.
using FormatValue = std::variant<std::string_view, std::int64_t>;

/// Formats one value by a libfmt specification known only at run time ("02", ">8"); `spec` is what
/// stands behind the colon. Fails with kInvalid when the specification does not fit the value
/// or asks for more than 9,999 characters.
Result<std::string> FormatBySpec(std::string_view spec, const FormatValue& value);

}  // namespace patchbay
