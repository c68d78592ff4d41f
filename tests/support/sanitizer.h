#pragma once

namespace patchbay::test {

/// True if AddressSanitizer is compiled in, which keeps freed memory for a while.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kHasAddressSanitizer = true;
#elif defined(__has_feature)
inline constexpr bool kHasAddressSanitizer = __has_feature(address_sanitizer);
#else
inline constexpr bool kHasAddressSanitizer = false;
#endif

/// Returns the number of similar cases that a test tries: under AddressSanitizer, a tenth of
/// `count`.
constexpr int Cases(int count) { return kHasAddressSanitizer ? count / 10 : count; }

}  // namespace patchbay::test
