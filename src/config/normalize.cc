#include "config/normalize.h"

#include <cstdint>

#include "base/number.h"
#include "model/validators.h"

namespace patchbay {
std::optional<std::string> NormalizedPermissions(std::string_view text) {
  std::string normalized;
  for (const char letter : std::string_view("rwm")) {
    if (text.find(letter) != std::string_view::npos) normalized.push_back(letter);
  }
  if (text.empty() || normalized.size() != text.size()) return std::nullopt;
  return normalized;
}

std::optional<std::string> NormalizedListenAddress(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos || !ParseNumber<std::uint16_t>(text.substr(colon + 1))) {
    return std::nullopt;
  }
  const std::string_view host = text.substr(0, colon);
  if (host.empty()) return "[::]" + std::string(text);
  const bool bracketed = host.size() > 2 && host.starts_with('[') && host.ends_with(']');
  const bool valid =
      bracketed ? AddressVersion(host.substr(1, host.size() - 2)) == 6 : AddressVersion(host) == 4;
  if (!valid) return std::nullopt;
  return std::string(text);
}

}  // namespace patchbay
