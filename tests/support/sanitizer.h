#pragma once

namespace patchbay::test {

/// Whether AddressSanitizer is compiled in, which keeps what was freed for a while.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kHasAddressSanitizer = true;
#elif defined(__has_feature)
inline constexpr bool kHasAddressSanitizer = __has_feature(address_sanitizer);
#else
inline constexpr bool kHasAddressSanitizer = false;
#endif

/// Whether a sanitizer is, under which everything takes several times as long.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kHasSanitizer = true;
#else
inline constexpr bool kHasSanitizer = kHasAddressSanitizer;
#endif

}  // namespace patchbay::test
