#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <type_traits>
#include <utility>

namespace patchbay {

/// What an error means to the caller who must decide what to do next. The text says the rest.
enum class ErrorKind {
  kInvalid,       ///< the request or the input is wrong; repeating it cannot help
  kNotFound,      ///< something named does not exist
  kPrecondition,  ///< right request, wrong state: an unhealthy device, a taken path
  kUnavailable,   ///< the environment failed; it may work later
};

/// A failure, with a message an administrator can act on.
struct Error {
  ErrorKind kind = ErrorKind::kUnavailable;
  std::string message;
};

/// A value or an Error. The interface is that of C++23's std::expected.
template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
};

/// Success or an Error.
using Status = Result<void>;

using Failure = tl::unexpected<Error>;

inline Failure Fail(ErrorKind kind, std::string message) {
  return Failure(Error{kind, std::move(message)});
}

/// Why a pattern or a template does not parse, and where: the byte of the text that is wrong.
struct SyntaxError {
  std::size_t offset = 0;
  std::string message;
};

/// A compiled pattern or template, or why there is none.
template <class T>
using Parsed = tl::expected<T, SyntaxError>;

inline tl::unexpected<SyntaxError> Malformed(std::size_t offset, std::string message) {
  return tl::unexpected<SyntaxError>(SyntaxError{offset, std::move(message)});
}

/// `what`, followed by the text of errno: "cannot open /dev/x: Permission denied".
Failure FailErrno(std::string_view what, int error);

namespace detail {
template <class T>
T Take(Result<T>&& result) {
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}
}  // namespace detail

}  // namespace patchbay

/// Yields the value of a Result, or returns its error from the enclosing function.
#define TRY(...)                                                                \
  ({                                                                            \
    auto try_result = (__VA_ARGS__);                                            \
    if (!try_result) return ::patchbay::Failure(std::move(try_result).error()); \
    ::patchbay::detail::Take(std::move(try_result));                            \
  })
