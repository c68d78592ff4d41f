#include "dra/json_fields.h"

#include <charconv>
#include <limits>
#include <string>
#include <utility>

#include "base/format.h"

namespace patchbay {

Failure Within(std::string_view place, Error error) {
  error.message = Format("{}: {}", place, error.message);
  return Failure(std::move(error));
}

std::optional<std::int64_t> ParseQuantity(std::string_view text) {
  constexpr std::string_view kSuffixes = "kMGTPE";
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return std::nullopt;
  const std::string_view suffix = text.substr(static_cast<std::size_t>(end - text.data()));
  if (suffix.empty()) return value;
  const auto power = kSuffixes.find(suffix.front());
  if (suffix.size() > 1 || power == std::string_view::npos) return std::nullopt;
  for (std::size_t i = 0; i <= power; ++i) {
    if (value > std::numeric_limits<std::int64_t>::max() / 1000) return std::nullopt;
    value *= 1000;
  }
  return value;
}

}  // namespace patchbay
