#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace patchbay {

/// The value of a quantity of Kubernetes (apimachinery/pkg/api/resource/quantity.go) in
/// thousandths, so that comparing and rounding are exact. Pure.
using Quantity = __int128;

inline constexpr Quantity kUnit = 1'000;  ///< the quantity "1"
/// The largest quantity. Kubernetes replaces larger ones by it.
inline constexpr Quantity kMaxQuantity = kUnit * std::numeric_limits<std::int64_t>::max();

/// Parses a quantity such as "50", "1.5", "100m", "2Gi" or "1e3". Rounds away from zero to a
/// thousandth. Returns nothing for other texts, beyond kMaxQuantity, and with more digits than a
/// value has.
std::optional<Quantity> ParseQuantity(std::string_view text);

/// Returns a quantity as a text that ParseQuantity reads, with a suffix that shortens it: "3",
/// "1500m", "10G", "16Gi".
std::string QuantityText(Quantity value);

/// Returns the number of a positive quantity without a fraction; otherwise nothing.
std::optional<std::int64_t> CountOf(Quantity value);

}  // namespace patchbay
