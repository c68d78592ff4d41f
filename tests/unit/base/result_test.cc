#include "base/result.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>

namespace patchbay {
namespace {

Result<std::unique_ptr<int>> Make(bool works) {
  if (!works) return Fail(ErrorKind::kPrecondition, "no luck");
  return std::make_unique<int>(7);
}

Status Check(bool works) {
  if (!works) return Fail(ErrorKind::kInvalid, "bad");
  return {};
}

Result<int> UseBoth(bool makes, bool checks, bool& reached) {
  const std::unique_ptr<int> value = TRY(Make(makes));
  TRY(Check(checks));
  reached = true;
  return *value;
}

TEST(Try, YieldsTheValue) {
  bool reached = false;
  const Result<int> result = UseBoth(true, true, reached);
  ASSERT_TRUE(result);
  EXPECT_EQ(*result, 7);
  EXPECT_TRUE(reached);
}

TEST(Try, ReturnsTheErrorUnchanged) {
  bool reached = false;
  const Result<int> no_value = UseBoth(false, true, reached);
  ASSERT_FALSE(no_value);
  EXPECT_EQ(no_value.error().kind, ErrorKind::kPrecondition);
  EXPECT_EQ(no_value.error().message, "no luck");
  EXPECT_EQ(UseBoth(true, false, reached).error().message, "bad");
  EXPECT_FALSE(reached);
}

TEST(Try, EvaluatesItsArgumentOnce) {
  int calls = 0;
  const auto count = [&]() -> Result<int> { return ++calls; };
  const auto use = [&]() -> Result<int> { return TRY(count()) + TRY(count()); };
  EXPECT_EQ(*use(), 3);
  EXPECT_EQ(calls, 2);
}

TEST(FailErrno, DistinguishesNotFoundFromUnavailable) {
  EXPECT_EQ(FailErrno("x", ENOENT).value().kind, ErrorKind::kNotFound);
  EXPECT_EQ(FailErrno("x", ENOTDIR).value().kind, ErrorKind::kNotFound);
  EXPECT_EQ(FailErrno("x", EACCES).value().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(FailErrno("cannot open /dev/x", EACCES).value().message,
            "cannot open /dev/x: Permission denied");
}

TEST(Malformed, CarriesTheOffset) {
  const Parsed<int> parsed = Malformed(3, "odd");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().offset, 3u);
  EXPECT_EQ(parsed.error().message, "odd");
}

}  // namespace
}  // namespace patchbay
