#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace patchbay::api_sim {

/// The rules of the API for texts and quantities, with the expressions of the real server.

enum class Rule {
  kDnsLabel,
  kDnsSubdomain,
  kDriver,         ///< a DNS subdomain of at most 63 bytes
  kPool,           ///< DNS subdomains joined by "/"
  kIdentifier,     ///< of C, of an attribute or a capacity
  kAttributeText,  ///< any text of at most 64 bytes
  kVersion,        ///< of semver.org 2.0.0, as the value of an attribute
  kLabelKey,       ///< an optional DNS subdomain and a slash, then a name; also of a taint
  kLabelValue,
  kTime,  ///< RFC 3339
};

/// Returns whether a text that is not longer than MaxBytes() follows the rule.
bool Accepts(Rule rule, std::string_view text);
std::size_t MaxBytes(Rule rule);
/// "must be a DNS label, which matches …"
std::string Description(Rule rule);

/// The numeric value of a quantity in thousandths, rounded up as the real server does. Wide enough
/// for every quantity with at most 17 digits and a suffix.
using Millis = __int128;

/// Parses a quantity such as "50", "1.5", "100m", "2Gi" or "1e3".
std::optional<Millis> ParseQuantity(std::string_view text);
/// Returns a quantity as text: "3", or "1500m" if it is not an integer.
std::string QuantityText(Millis value);

}  // namespace patchbay::api_sim
