#include "model/hardware_patterns.h"

#include <algorithm>

#include "base/ascii.h"

namespace patchbay {
namespace {

/// Removes the digits at the beginning of the text. Returns whether there were any.
bool TakeDigits(std::string_view& text) {
  const auto end = std::ranges::find_if_not(text, IsDigit);
  const auto count = static_cast<std::size_t>(end - text.begin());
  text.remove_prefix(count);
  return count > 0;
}

bool Take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

}  // namespace

bool IsUsbPort(std::string_view name) {
  if (Take(name, "usb")) return TakeDigits(name) && name.empty();
  if (!TakeDigits(name) || !Take(name, "-") || !TakeDigits(name)) return false;
  while (Take(name, ".")) {
    if (!TakeDigits(name)) return false;
  }
  return name.empty();
}

bool IsPciAddress(std::string_view name) {
  constexpr std::string_view kAfterDomain = ":bb:dd.f";
  if (name.size() < 4 + kAfterDomain.size()) return false;
  const std::string_view domain = name.substr(0, name.size() - kAfterDomain.size());
  const std::string_view rest = name.substr(domain.size());
  return std::ranges::all_of(domain, IsLowerHex) && rest[0] == ':' && IsLowerHex(rest[1]) &&
         IsLowerHex(rest[2]) && rest[3] == ':' && (rest[4] == '0' || rest[4] == '1') &&
         IsLowerHex(rest[5]) && rest[6] == '.' && rest[7] >= '0' && rest[7] <= '7';
}

}  // namespace patchbay
