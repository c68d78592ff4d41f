#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <type_traits>
#include <utility>

namespace patchbay {

/// The kind of an error, which determines what the caller does next. The message has the details.
enum class ErrorKind {
  kInvalid,       ///< the request or the input is wrong; a retry cannot succeed
  kNotFound,      ///< a named object does not exist
  kPrecondition,  ///< valid request, wrong state: an unhealthy device, a path in use
  kUnavailable,   ///< the environment failed; a retry may succeed
};

/// An error with a message that an administrator can act on.
struct Error {
  ErrorKind kind = ErrorKind::kUnavailable;
  std::string message;
};

/// A value or an Error. The interface is that of std::expected of C++23.
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

/// A syntax error in a pattern or a template. `offset` is the index of the wrong byte in the text.
struct SyntaxError {
  std::size_t offset = 0;
  std::string message;
};

/// A compiled pattern or template, or its syntax error.
template <class T>
using Parsed = tl::expected<T, SyntaxError>;

inline tl::unexpected<SyntaxError> Malformed(std::size_t offset, std::string message) {
  return tl::unexpected<SyntaxError>(SyntaxError{offset, std::move(message)});
}

/// Returns an error whose message is `what` and the text of the errno value `error`: "cannot open
/// /dev/x: Permission denied". The kind is kNotFound for ENOENT and ENOTDIR, otherwise
/// kUnavailable.
Failure FailErrno(std::string_view what, int error);

namespace detail {
template <class T>
T Take(Result<T>&& result) {
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}
}  // namespace detail

}  // namespace patchbay

/// Evaluates to the value of a Result, or returns its error from the enclosing function. Do not use
/// it within a braced initializer: GCC does not destroy the members that were initialized before.
#define TRY(...)                                                                \
  ({                                                                            \
    auto try_result = (__VA_ARGS__);                                            \
    if (!try_result) return ::patchbay::Failure(std::move(try_result).error()); \
    ::patchbay::detail::Take(std::move(try_result));                            \
  })
