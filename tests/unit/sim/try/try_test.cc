#include "sim/try/try.h"

#include <gmock/gmock.h>

#include <sstream>

#include "support/temp_tree.h"

namespace patchbay {
namespace {

using test::TempTree;

TEST(Try, RequiresAnExistingHostRoot) {
  TempTree tree;
  tree.File("patchbay.toml",
            "[daemon]\nhost_root = '/no/such'\n[[resource]]\nname = 'a.com/x'\n"
            "[[resource.match]]\ncount = 1\n");
  Arguments arguments;
  arguments.command = "try";
  arguments.once = true;
  arguments.config = tree.path("patchbay.toml");
  arguments.is_config_given = true;
  std::ostringstream out, err;
  EXPECT_EQ(RunWithSimulators(arguments, {out, err}), kFailed);
  EXPECT_THAT(err.str(), testing::HasSubstr("\"/no/such\" is not a directory here"));
}

}  // namespace
}  // namespace patchbay
