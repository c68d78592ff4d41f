#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace patchbay::api_sim {

/// The rules of the API for texts, with the expressions of the real server.

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

}  // namespace patchbay::api_sim
