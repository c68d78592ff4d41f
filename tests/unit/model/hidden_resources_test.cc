#include "model/hidden_resources.h"

#include <gmock/gmock.h>

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

ResourceSpec Resource(const std::string& name, const std::vector<std::string>& on_nodes) {
  ResourceSpec spec;
  spec.name = name;
  spec.description = "of " + name;
  for (const std::string& pattern : on_nodes) {
    spec.on_nodes.only.push_back(NamePattern::Compile(pattern).value());
  }
  return spec;
}

TEST(HiddenResources, AreThoseOfOtherNodesInTheOrderOfTheFile) {
  const Model model{{},
                    {Resource("z", {"lab-*", "desk"}), Resource("all", {}),
                     Resource("rack", {"rack-*"}), Resource("a", {"desk"})}};
  EXPECT_THAT(HiddenFrom(model, ResourcesFor(model, "rack-1")),
              ElementsAre(HiddenResource{"z", "of z", {"lab-*", "desk"}},
                          HiddenResource{"a", "of a", {"desk"}}));
  EXPECT_THAT(HiddenFrom(model, ResourcesFor(model, "desk")),
              ElementsAre(HiddenResource{"rack", "of rack", {"rack-*"}}));
  EXPECT_THAT(HiddenFrom({}, {}), IsEmpty());
}

TEST(HiddenResources, AreOnePerNameAndNotAmongTheServedOnes) {
  const Model model{{}, {Resource("x", {"lab-*"}), Resource("x", {"desk"}), Resource("y", {"no"})}};
  EXPECT_THAT(HiddenFrom(model, ResourcesFor(model, "desk")),
              ElementsAre(HiddenResource{"y", "of y", {"no"}}));
  EXPECT_THAT(HiddenFrom(model, ResourcesFor(model, "rack")),
              ElementsAre(HiddenResource{"x", "of x", {"lab-*", "desk"}},
                          HiddenResource{"y", "of y", {"no"}}));
}

}  // namespace
}  // namespace patchbay
