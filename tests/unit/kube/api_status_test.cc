#include "kube/api_status.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/escape.h"

namespace patchbay {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

TEST(ApiStatus, ReadsTheStatusObject) {
  const ApiError error = ErrorOfResponse(
      409, "", R"({"kind": "Status", "reason": "Conflict", "message": "changed", "code": 409})");
  EXPECT_EQ(error.kind, ApiErrorKind::kStatus);
  EXPECT_EQ(error.status, 409u);
  EXPECT_EQ(error.reason, "Conflict");
  EXPECT_EQ(error.message, "HTTP status 409: changed");
  EXPECT_FALSE(error.retry_after);
}

TEST(ApiStatus, UsesOnlyTheHttpStatusOfOtherBodies) {
  for (const char* body : {"", "<html>no</html>", "{}", "[]", R"({"message": "x"})",
                           R"({"kind": "Pod", "message": "x"})"}) {
    const ApiError error = ErrorOfResponse(502, "", body);
    EXPECT_EQ(error.message, "HTTP status 502") << body;
    EXPECT_EQ(error.reason, "") << body;
  }
}

TEST(ApiStatus, BoundsTextsOfTheServer) {
  const ApiError hostile =
      ErrorOfResponse(500, "",
                      R"({"kind": "Status", "reason": "a\nb", "message": "x\u001b[31m)" +
                          std::string(5000, 'y') + "\"}");
  EXPECT_EQ(hostile.reason, "");
  EXPECT_EQ(Printable(hostile.message), hostile.message);
  EXPECT_LT(hostile.message.size(), 1200u);
  EXPECT_EQ(ErrorOfResponse(500, "",
                            R"({"kind": "Status", "message": ")" + std::string(65'537, 'y') + "\"}")
                .message,
            "HTTP status 500");
}

TEST(ApiStatus, NamesTheNextStep) {
  EXPECT_THAT(ErrorOfResponse(401, "", "").message, HasSubstr("check the token"));
  EXPECT_THAT(ErrorOfResponse(403, "", "").message, HasSubstr("grant the permission"));
  EXPECT_THAT(ErrorOfResponse(404, "", "").message, HasSubstr("serves this API"));
  for (const unsigned redirect : {301U, 302U, 303U, 307U, 308U}) {
    EXPECT_THAT(ErrorOfResponse(redirect, "", "<html>moved</html>").message,
                HasSubstr("use the address of the API server itself"))
        << redirect;
  }
  const ApiError invalid = ErrorOfResponse(
      422, "", R"({"kind": "Status", "reason": "Invalid", "message": "spec.x: Too long"})");
  EXPECT_THAT(invalid.message, HasSubstr("422: spec.x: Too long; change the device, attribute"));
}

TEST(ApiStatus, ReadsRetryAfter) {
  EXPECT_EQ(ErrorOfResponse(429, "7", "").retry_after, seconds(7));
  EXPECT_EQ(ParseRetryAfter("0"), seconds(0));
  EXPECT_EQ(ParseRetryAfter("999999999"), kMaxRetryAfter);
  for (const char* value : {"", "-1", "1.5", " 1", "1 ", "9999999999", "Wed, 21 Oct 2015"}) {
    EXPECT_FALSE(ParseRetryAfter(value)) << value;
  }
}

TEST(ApiStatus, ReadsTheStatusOfAnErrorEvent) {
  const ApiError gone = ErrorOfEvent({{"kind", "Status"}, {"code", 410}, {"reason", "Expired"}});
  EXPECT_EQ(gone.status, 410u);
  EXPECT_EQ(gone.reason, "Expired");
  const ApiError last = ErrorOfEvent({{"kind", "Status"}, {"code", 599}});
  EXPECT_EQ(last.kind, ApiErrorKind::kStatus);
  EXPECT_EQ(last.status, 599U);
  for (const char* object :
       {"{}", "1", R"({"kind": "Status"})", R"({"kind": "Status", "code": 200})",
        R"({"kind": "Status", "code": 600})", R"({"kind": "Status", "code": "410"})",
        R"({"kind": "Status", "code": 410.5})"}) {
    EXPECT_EQ(ErrorOfEvent(nlohmann::json::parse(object)).kind, ApiErrorKind::kResponse) << object;
  }
}

}  // namespace
}  // namespace patchbay
