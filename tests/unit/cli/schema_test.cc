#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli_support.h"
#include "config/json_schema.h"

namespace patchbay {
namespace {

TEST(SchemaCommand, PrintsTheSchema) {
  const auto ran = test::RunCli({"schema"});
  EXPECT_EQ(ran.code, kOk);
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(nlohmann::json::parse(ran.out), nlohmann::json(JsonSchema()));
}

}  // namespace
}  // namespace patchbay
