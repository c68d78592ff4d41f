#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/format.h"
#include "cli_support.h"
#include "support/temp_tree.h"

namespace patchbay::test {

/// Runs `explain` on a host in a temporary directory that every user can enter.
class ExplainTest : public testing::Test {
 protected:
  ExplainTest() {
    for (const TempTree* tree : {&tree_, &config_tree_}) chmod(tree->path().c_str(), 0711);
  }

  void Config(std::string_view text) { config_tree_.File("patchbay.toml", text); }
  /// Writes a resource a.com/x with one match, which has these lines.
  void Match(std::string_view keys) {
    Config(Format("[[resource]]\nname = \"a.com/x\"\n[[resource.match]]\n{}\n", keys));
  }

  Ran Explain(const std::vector<std::string>& more = {}) {
    std::vector<std::string> line = {"explain", "--config", config_tree_.path("patchbay.toml"),
                                     "--host-root", tree_.path()};
    line.insert(line.end(), more.begin(), more.end());
    return RunCli(line);
  }
  Ran ExplainUnprivileged(const std::vector<std::string>& more = {}) {
    const Unprivileged unprivileged;
    return Explain(more);
  }

  ScopedEnv config_{"PATCHBAY_CONFIG", std::nullopt};
  ScopedEnv node_name_{"NODE_NAME", "rack-1"};
  TempTree config_tree_;
  TempTree tree_;
};

}  // namespace patchbay::test
