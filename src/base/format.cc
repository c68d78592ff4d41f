#include "base/format.h"

#include <fmt/args.h>

namespace patchbay {

Result<std::string> FormatBySpec(std::string_view spec, const FormatValue& value) {
  const std::string pattern = "{:" + std::string(spec) + "}";
  try {
    return std::visit(
        [&](const auto& v) { return fmt::vformat(pattern, fmt::make_format_args(v)); }, value);
  } catch (const fmt::format_error& e) {
    return Fail(ErrorKind::kInvalid, e.what());
  }
}

}  // namespace patchbay
