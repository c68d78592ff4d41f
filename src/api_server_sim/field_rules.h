#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace patchbay::api_sim {

/// Rules for names and values in objects of the API. Each predicate covers the whole rule except
/// maximum lengths that the API reports as another error. The texts are those of the real server.

/// The numeric value of a quantity in thousandths, rounded up as the real server does. Wide enough
/// for every quantity with at most 17 digits and a suffix.
using Millis = __int128;

/// Parses a quantity such as "50", "1.5", "100m", "2Gi" or "1e3".
std::optional<Millis> ParseQuantity(std::string_view text);
/// Returns a quantity as text: "3", or "1500m" if it is not an integer.
std::string QuantityText(Millis value);

/// Returns whether `text` is a time of RFC 3339.
bool IsTime(std::string_view text);
/// Returns whether `text` is a UUID in its usual form, in lower case.
bool IsUuid(std::string_view text);
/// A version of semver.org 2.0.0.
bool IsSemver(std::string_view text);
bool IsCIdentifier(std::string_view text);
bool IsDnsLabel(std::string_view text);
bool IsDnsSubdomain(std::string_view text);
/// A key of a label or a taint: an optional DNS subdomain and a slash, then a name.
bool IsLabelKey(std::string_view text);
bool IsLabelValue(std::string_view text);

inline constexpr std::size_t kMaxDnsLabel = 63;
inline constexpr std::size_t kMaxDnsSubdomain = 253;

extern const std::string_view kDnsLabelRule;
extern const std::string_view kDnsSubdomainRule;
extern const std::string_view kCIdentifierRule;
extern const std::string_view kLabelKeyRule;
extern const std::string_view kLabelValueRule;

}  // namespace patchbay::api_sim
