#include "base/format.h"

#include <fmt/args.h>

#include <algorithm>

namespace patchbay {
namespace {

/// Returns whether `spec` contains a number of more than four digits. Such a width or precision
/// would allocate the memory before the length of the result can be checked.
bool HoldsHugeNumber(std::string_view spec) {
  int digits = 0;
  return std::any_of(spec.begin(), spec.end(), [&](char c) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    return digits > 4;
  });
}

}  // namespace

Result<std::string> FormatBySpec(std::string_view spec, const FormatValue& value) {
  if (HoldsHugeNumber(spec)) {
    return Fail(ErrorKind::kInvalid, "the width or precision is too large");
  }
  // With a width, libfmt 9 computes the width of a text that needs escaping through a null buffer
  // and aborts.
  if (spec.ends_with('?')) return Fail(ErrorKind::kInvalid, "\"?\" is not a supported format");
  const std::string pattern = "{:" + std::string(spec) + "}";
  try {
    return std::visit(
        [&](const auto& v) { return fmt::vformat(pattern, fmt::make_format_args(v)); }, value);
  } catch (const fmt::format_error& e) {
    return Fail(ErrorKind::kInvalid, e.what());
  }
}

}  // namespace patchbay
