#include "config/duration.h"

#include <charconv>

#include "base/format.h"

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
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc()) return std::nullopt;
  const std::string_view name(rest, static_cast<std::size_t>(end - rest));
  for (const Unit& unit : kUnits) {
    if (unit.name != name) continue;
    if (number > kMax / unit.milliseconds) return std::nullopt;
    return std::chrono::milliseconds(number * unit.milliseconds);
  }
  return std::nullopt;
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
