#include "discovery/scan_budget.h"

#include <gmock/gmock.h>

#include <optional>

#include "base/format.h"
#include "support/temp_tree.h"
#include "unit/discovery/specs.h"

namespace patchbay {
namespace {

using test::Ids;
using test::PathMatch;
using test::Rejected;
using test::Resource;
using testing::IsEmpty;
using testing::SizeIs;

/// The most that two resources can have together, besides what each has of its own.
constexpr std::size_t kShared = ScanShare::kMax - ScanShare::kOwn;
constexpr std::size_t kRest = ScanBudget::kTotal - kShared;

TEST(ScanBudget, OneResourceLeavesSomethingForOthers) {
  const auto budget = std::make_shared<ScanBudget>();
  ScanShare greedy, other, third;
  greedy.Begin(budget);
  EXPECT_FALSE(greedy.Take(ScanShare::kMax + 1));
  EXPECT_TRUE(greedy.Take(ScanShare::kMax));
  EXPECT_FALSE(greedy.Take(1));
  other.Begin(budget);
  EXPECT_FALSE(other.Take(kRest + ScanShare::kOwn + 1));
  EXPECT_TRUE(other.Take(kRest + ScanShare::kOwn));
  EXPECT_FALSE(other.Take(1));
  third.Begin(budget);
  EXPECT_TRUE(third.Take(ScanShare::kOwn)) << "others cannot starve it";
  EXPECT_FALSE(third.Take(1));
}

TEST(ScanBudget, TheNextScanUsesTheShareOfTheLast) {
  const auto budget = std::make_shared<ScanBudget>();
  std::optional<ScanShare> share(std::in_place);
  for (int scan = 0; scan < 3; ++scan) {
    share->Begin(budget);
    EXPECT_TRUE(share->Take(ScanShare::kMax));
    share->Trim();
  }
  ScanShare other;
  other.Begin(budget);
  const std::size_t rest = kRest + ScanShare::kOwn;
  EXPECT_FALSE(other.Take(rest + 1));
  share->Begin(budget);
  EXPECT_TRUE(share->Take(1));
  EXPECT_FALSE(other.Take(rest + 1)) << "the last result may still be in use";
  share->Trim();
  EXPECT_TRUE(other.Take(ScanShare::kMax));
  EXPECT_TRUE(share->Take(rest - 1));
  share.reset();
  EXPECT_FALSE(other.Take(1)) << "the most for one resource";
  ScanShare last;
  last.Begin(budget);
  EXPECT_TRUE(last.Take(rest));
}

class ScanOverBudget : public testing::Test {
 protected:
  ScanOverBudget() {
    for (const char* path : {"a/x", "b/x", "b/y", "c/d/x"}) {
      tree_.File(std::string("dev/") + path);
    }
    // More than a resource may find without the budget.
    for (std::size_t i = 0; i < kMany; ++i) tree_.File(Format("dev/many/{}", i));
  }
  /// Scans with so much of the budget.
  Discovery Find(std::size_t bytes, MatchSpec match) {
    budget_ = std::make_shared<ScanBudget>();
    EXPECT_TRUE(budget_->Take(ScanBudget::kTotal - bytes));
    return Discover(Resource({std::move(match)}), host_,
                    ScanRequest{.node_name = "node-1", .cache = cache_, .budget = budget_});
  }

  static constexpr std::size_t kMany =
      ScanShare::kOwn / (ScanShare::kEntry + ScanShare::kDevice) + 1;
  test::TempTree tree_;
  HostRoot host_{tree_.path()};
  std::shared_ptr<ScanCache> cache_ = std::make_shared<ScanCache>();
  std::shared_ptr<ScanBudget> budget_;
};

TEST_F(ScanOverBudget, EndsWithARejectionAndIsIncomplete) {
  for (const MatchSpec& match :
       {PathMatch({"/dev/**"}, NodeType::kFile), test::RegexMatch("/dev/.*", NodeType::kFile)}) {
    cache_ = std::make_shared<ScanCache>();
    const Discovery all = Find(std::size_t{1} << 20, match);
    EXPECT_THAT(all.devices, SizeIs(kMany + 4));
    EXPECT_THAT(all.rejected, IsEmpty());
    EXPECT_FALSE(all.is_cut);
    for (const std::size_t bytes : {std::size_t{0}, ScanShare::kDirectory}) {
      cache_ = std::make_shared<ScanCache>();
      const Discovery some = Find(bytes, match);
      EXPECT_LT(some.devices.size(), kMany + 4) << bytes;
      EXPECT_TRUE(some.is_cut && !some.complete) << bytes;
      ASSERT_THAT(some.rejected, SizeIs(1)) << bytes;
      EXPECT_EQ(some.rejected.front().reason, RejectReason::kLimit);
      EXPECT_TRUE(some.rejected.front().path.starts_with("/dev/"));
      EXPECT_THAT(some.rejected.front().detail, testing::HasSubstr("96 MiB"));
    }
  }
}

TEST_F(ScanOverBudget, AResourceWithFewDevicesNeedsNoBudget) {
  EXPECT_THAT(Ids(Find(0, PathMatch({"/dev/{a,b}/*", "/dev/c/**"}, NodeType::kFile))),
              testing::UnorderedElementsAre("a:x", "b:x", "b:y", "d:x"));
}

TEST_F(ScanOverBudget, TheNextScanFindsWhatFits) {
  EXPECT_TRUE(Find(0, PathMatch({"/dev/**"}, NodeType::kFile)).is_cut);
  const Discovery found = Find(std::size_t{1} << 20, PathMatch({"/dev/**"}, NodeType::kFile));
  EXPECT_THAT(found.devices, SizeIs(kMany + 4));
  EXPECT_TRUE(found.complete);
  cache_.reset();
  EXPECT_TRUE(budget_->Take(std::size_t{1} << 20)) << "all of it is free again";
}

}  // namespace
}  // namespace patchbay
