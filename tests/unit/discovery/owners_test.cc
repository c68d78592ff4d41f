#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "specs.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using test::Ids;
using test::PathMatch;
using test::Rejected;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ResourceSpec Named(const std::string& name, bool exclusive,
                   const std::vector<std::string_view>& globs) {
  ResourceSpec spec = test::Resource({PathMatch(globs, NodeType::kFile)});
  spec.name = name;
  spec.exclusive = exclusive;
  return spec;
}

class OwnersTest : public testing::Test {
 protected:
  OwnersTest() {
    for (const std::string name : {"a1", "a2", "b1"}) tree_.File("dev/" + name);
    tree_.Link("dev/by-id/one", "../a1");
  }

  /// Returns the scan of a resource of the model, by its index.
  Discovery Find(const Model& model, std::size_t place, ScanRequest request = {}) const {
    const ResourceSpecs all = ResourcesFor(model, "");
    request.exclusive_above = ExclusiveResourcesAbove(*all.at(place), all);
    return Discover(*all.at(place), HostRoot(tree_.path()), request);
  }

  test::TempTree tree_;
};

TEST_F(OwnersTest, ExclusiveResourceTakesItsNodes) {
  const Model model{
      {}, {Named("x/all", false, {"/dev/a*", "/dev/b*"}), Named("x/one", true, {"/dev/by-id/*"})}};
  const Discovery all = Find(model, 0);
  EXPECT_THAT(Ids(all), ElementsAre("a2", "b1"));
  ASSERT_THAT(Rejected(all.rejected), ElementsAre("taken /dev/a1"));
  EXPECT_THAT(all.rejected[0].detail, HasSubstr("x/one"));
  EXPECT_THAT(all.directories, Contains("/dev/by-id")) << "the scan of the owner depends on it";
  EXPECT_THAT(Ids(Find(model, 1)), ElementsAre("one"));
}

TEST_F(OwnersTest, FirstExclusiveResourceTakesTheNode) {
  const Model model{{},
                    {Named("x/a", true, {"/dev/a*"}), Named("x/b", true, {"/dev/a1", "/dev/b1"}),
                     Named("x/c", false, {"/dev/*"})}};
  EXPECT_THAT(Ids(Find(model, 0)), ElementsAre("a1", "a2"));
  EXPECT_THAT(Ids(Find(model, 1)), ElementsAre("b1"));
  EXPECT_THAT(Find(model, 2).devices, IsEmpty());
}

TEST_F(OwnersTest, ExclusiveResourceTakesNodesItRejects) {
  Model model{{}, {Named("x/a", true, {"/dev/a*"}), Named("x/b", false, {"/dev/*"})}};
  model.resources[0].matches[0] = test::WithId(model.resources[0].matches[0], "same");
  EXPECT_THAT(Find(model, 0).devices, IsEmpty());
  EXPECT_THAT(Ids(Find(model, 1)), ElementsAre("b1"));
}

TEST_F(OwnersTest, UnreadableNodesStayTaken) {
  const Model model{{},
                    {Named("x/all", false, {"/dev/a*"}), Named("x/one", true, {"/dev/by-id/*"})}};
  const Discovery before = Find(model, 0);
  EXPECT_THAT(Ids(before), ElementsAre("a2"));
  tree_.Remove("dev/by-id/one");
  tree_.Remove("dev/by-id");
  tree_.Link("dev/by-id", std::string(300, 'x'));  // longer than NAME_MAX
  const Discovery now = Find(model, 0, ScanRequest{.owned_before = before.owned});
  EXPECT_THAT(Ids(now), ElementsAre("a2"));
  EXPECT_THAT(Ids(Find(model, 0, ScanRequest{.owned_before = now.owned})), ElementsAre("a2"))
      << "until it can be read again";
}

TEST_F(OwnersTest, HangingExclusiveResourceKeepsItsNodes) {
  const Model model{
      {}, {Named("x/all", false, {"/dev/a*", "/dev/b*"}), Named("x/one", true, {"/dev/a*"})}};
  const Discovery before = Find(model, 0);
  EXPECT_THAT(Ids(before), ElementsAre("b1"));
  tree_.File("dev/a3");
  EXPECT_THAT(
      Ids(Find(model, 0, ScanRequest{.owned_before = before.owned, .skips_exclusive = true})),
      ElementsAre("a3", "b1"));
}

TEST_F(OwnersTest, UnscannedExclusiveResourceTakesMatchingPaths) {
  const Model model{
      {}, {Named("x/all", false, {"/dev/a*", "/dev/b*"}), Named("x/one", true, {"/dev/a*"})}};
  const Discovery found = Find(model, 0, ScanRequest{.skips_exclusive = true});
  EXPECT_THAT(Ids(found), ElementsAre("b1"));
  ASSERT_THAT(Rejected(found.rejected), ElementsAre("taken /dev/a1", "taken /dev/a2"));
  EXPECT_THAT(found.rejected[0].detail, HasSubstr("may belong to x/one, which is exclusive and"));
  EXPECT_FALSE(found.complete) << "the device may be there";
  EXPECT_FALSE(found.owned->contains("x/one")) << "still unknown";
}

TEST_F(OwnersTest, NothingIsTakenWithoutExclusiveResources) {
  const Model model{{}, {Named("x/a", false, {"/dev/a*"}), Named("x/b", false, {"/dev/*"})}};
  EXPECT_THAT(Ids(Find(model, 1)), ElementsAre("a1", "a2", "b1"));
}

TEST_F(OwnersTest, NodesExcludedByTheExclusiveResourceAreFree) {
  Model model{{}, {Named("x/a", true, {"/dev/a*"}), Named("x/b", false, {"/dev/a*"})}};
  model.resources[0].matches[0] = test::Without(model.resources[0].matches[0], "/dev/a2");
  EXPECT_THAT(Ids(Find(model, 1)), ElementsAre("a2"));
}

TEST_F(OwnersTest, DevicesExcludedByTheExclusiveResourceAreFree) {
  tree_.File("dev/a1-control");
  Model model{{}, {Named("x/a", true, {}), Named("x/b", false, {"/dev/a*"})}};
  model.resources[0].matches = {test::Grouped(
      test::Without(test::RegexMatch("/dev/a(?P<n>[0-9]+).*", NodeType::kFile), "/dev/a1-control"),
      "n")};
  EXPECT_THAT(Ids(Find(model, 0)), ElementsAre("2"));
  EXPECT_THAT(Ids(Find(model, 1)), ElementsAre("a1", "a1-control"));
}

}  // namespace
}  // namespace patchbay
