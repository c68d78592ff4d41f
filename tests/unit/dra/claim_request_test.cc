#include "dra/claim_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

tl::unexpected<ApiError> FailedWith(unsigned status, std::string reason) {
  return tl::unexpected<ApiError>(ApiError{.kind = ApiErrorKind::kStatus,
                                           .message = "the message",
                                           .status = status,
                                           .reason = std::move(reason)});
}

/// A claim that does not exist is released, so a proxy must not make it seem so.
TEST(ClaimTextOf, IsNotFoundOnlyIfTheApiServerSaysSo) {
  const auto kind = [](const ApiResult& result) { return ClaimTextOf(result).error().kind; };
  EXPECT_EQ(kind(FailedWith(404, "NotFound")), ErrorKind::kNotFound);
  EXPECT_EQ(kind(FailedWith(404, "")), ErrorKind::kUnavailable) << "a proxy";
  EXPECT_EQ(kind(FailedWith(503, "NotFound")), ErrorKind::kUnavailable);
  EXPECT_EQ(ClaimTextOf(FailedWith(404, "")).error().message, "the message");
  EXPECT_EQ(ClaimTextOf(ApiResponse{200, "{}"}).value(), "{}");
}

}  // namespace
}  // namespace patchbay
