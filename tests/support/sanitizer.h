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

/// True if ThreadSanitizer is compiled in; see cmake/rooms.cmake for the macro.
#if defined(_GLIBCXX_TSAN)
inline constexpr bool kHasThreadSanitizer = true;
#else
inline constexpr bool kHasThreadSanitizer = false;
#endif

/// Returns the number of similar cases that a test tries: under these sanitizers, a tenth of
/// `count`.
constexpr int Cases(int count) {
  return kHasAddressSanitizer || kHasThreadSanitizer ? count / 10 : count;
}

}  // namespace patchbay::test
