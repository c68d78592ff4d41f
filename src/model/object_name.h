#pragma once

#include <cstddef>
#include <string_view>

namespace patchbay {

/// Names of objects of the Kubernetes API, and of what is in them (k8s.io/apimachinery
/// pkg/util/validation). Pure.

/// The maximum length in bytes of a DNS label, and of a DNS subdomain.
inline constexpr std::size_t kMaxLabel = 63;
inline constexpr std::size_t kMaxSubdomain = 253;

/// Returns whether `text` is a DNS label: 1 to kMaxLabel lowercase letters, digits and "-", with a
/// letter or digit at both ends.
bool IsDnsLabel(std::string_view text);

/// Returns whether `text` is a DNS subdomain: DNS labels separated by dots, at most kMaxSubdomain
/// bytes.
bool IsDnsSubdomain(std::string_view text);

/// Returns whether `text` can be the UID of an object: 1 to 64 ASCII letters, digits and "-". Such
/// a text can be part of a file name.
bool IsUid(std::string_view text);

}  // namespace patchbay
