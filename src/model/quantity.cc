#include "model/quantity.h"

#include <algorithm>
#include <span>

#include "base/ascii.h"
#include "base/format.h"
#include "base/number.h"

namespace patchbay {
namespace {

/// kMaxQuantity has 22 digits. With these limits, no intermediate result exceeds 128 bits.
constexpr std::size_t kMaxWholeDigits = 22;
constexpr std::size_t kMaxDecimals = 15;

constexpr std::string_view kDecimalSuffixes[] = {"", "k", "M", "G", "T", "P", "E"};
constexpr std::string_view kBinarySuffixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};

/// Removes the digits at the beginning of `text` and returns them.
std::string_view LeadingDigits(std::string_view& text) {
  const auto* const end = std::find_if_not(text.begin(), text.end(), IsDigit);
  const std::string_view digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  return digits;
}

Quantity PowerOfTen(std::size_t exponent) {
  Quantity power = 1;
  for (std::size_t i = 0; i < exponent; ++i) power *= 10;
  return power;
}

/// The factor that a suffix stands for: `size` divided by ten to the power `decimals`.
struct SuffixUnit {
  Quantity size = kUnit;
  std::size_t decimals = 0;
};

/// Returns nothing for an unknown suffix. "e3" and "E-3" are exponents.
std::optional<SuffixUnit> UnitOf(std::string_view suffix) {
  if (suffix == "n") return SuffixUnit{1, 6};
  if (suffix == "u") return SuffixUnit{1, 3};
  if (suffix == "m") return SuffixUnit{1};
  Quantity decimal = kUnit, binary = kUnit;
  for (std::size_t i = 0; i < std::size(kDecimalSuffixes); ++i) {
    if (suffix == kDecimalSuffixes[i]) return SuffixUnit{decimal};
    if (suffix == kBinarySuffixes[i]) return SuffixUnit{binary};
    decimal *= 1000;
    binary *= 1024;
  }
  if (suffix[0] != 'e' && suffix[0] != 'E') return std::nullopt;
  suffix.remove_prefix(1);
  if (suffix.starts_with("+") && !suffix.starts_with("+-")) suffix.remove_prefix(1);
  const auto exponent = ParseNumber<int>(suffix);
  if (!exponent || *exponent < -18 || *exponent > 18) return std::nullopt;
  if (*exponent < 0) return SuffixUnit{kUnit, static_cast<std::size_t>(-*exponent)};
  return SuffixUnit{kUnit * PowerOfTen(static_cast<std::size_t>(*exponent))};
}

/// Returns a number with the suffix of the largest power of `base` that divides it.
std::string WithSuffix(std::int64_t number, std::int64_t base,
                       std::span<const std::string_view> suffixes) {
  std::size_t power = 0;
  while (power + 1 < suffixes.size() && number != 0 && number % base == 0) {
    number /= base;
    ++power;
  }
  return Format("{}{}", number, suffixes[power]);
}

}  // namespace

std::optional<Quantity> ParseQuantity(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  const std::string_view whole = LeadingDigits(text);
  std::string_view fraction;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    fraction = LeadingDigits(text);
  }
  const std::optional<SuffixUnit> unit = UnitOf(text);
  if (!unit || whole.size() + fraction.size() == 0 || whole.size() > kMaxWholeDigits ||
      fraction.size() + unit->decimals > kMaxDecimals) {
    return std::nullopt;
  }
  Quantity number = 0;
  for (const std::string_view digits : {whole, fraction}) {
    for (const char c : digits) number = number * 10 + (c - '0');
  }
  const Quantity scale = PowerOfTen(fraction.size() + unit->decimals);
  if (number > kMaxQuantity * scale / unit->size) return std::nullopt;
  const Quantity value = (number * unit->size + scale - 1) / scale;
  return is_negative ? -value : value;
}

std::string QuantityText(Quantity value) {
  constexpr std::int64_t kMebi = 1024 * 1024;
  if (value < 0) return "-" + QuantityText(-value);
  const auto whole = static_cast<std::int64_t>(value / kUnit);
  const auto rest = static_cast<int>(value % kUnit);
  if (rest != 0) return whole == 0 ? Format("{}m", rest) : Format("{}{:03}m", whole, rest);
  std::string decimal = WithSuffix(whole, 1000, kDecimalSuffixes);
  std::string binary = WithSuffix(whole, 1024, kBinarySuffixes);
  // 10G is a multiple of Ki, and 4096 of anything is not 4Ki for a reader.
  return whole % kMebi == 0 && binary.size() < decimal.size() ? binary : decimal;
}

std::optional<std::int64_t> CountOf(Quantity value) {
  if (value <= 0 || value % kUnit != 0) return std::nullopt;
  return static_cast<std::int64_t>(value / kUnit);
}

}  // namespace patchbay
