#include "config/duration.h"

#include <algorithm>

#include "base/format.h"
#include "base/number.h"

namespace patchbay {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t milliseconds;
};
constexpr Unit kUnits[] = {{"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}};
constexpr std::int64_t kMax = std::int64_t{1000} * 366 * 24 * 3'600'000;

}  // namespace

std::optional<std::chrono::milliseconds> ParseDuration(std::string_view text) {
  const std::string_view digits = text.substr(0, text.find_first_not_of("0123456789"));
  const auto number = ParseNumber<std::int64_t>(digits);
  const auto* unit = std::ranges::find(kUnits, text.substr(digits.size()), &Unit::name);
  if (!number || unit == std::end(kUnits) || *number > kMax / unit->milliseconds) {
    return std::nullopt;
  }
  return std::chrono::milliseconds(*number * unit->milliseconds);
}

std::string FormatDuration(std::chrono::milliseconds duration) {
  for (const Unit& unit : kUnits) {
    if (duration.count() != 0 && duration.count() % unit.milliseconds == 0) {
      return Format("{}{}", duration.count() / unit.milliseconds, unit.name);
    }
  }
  return "0s";
}

}  // namespace patchbay
