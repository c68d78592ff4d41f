#include "sim/kubelet/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using testing::AnyOf;
using testing::Contains;
using testing::IsEmpty;
using testing::IsSubsetOf;
using testing::SizeIs;
using testing::UnorderedElementsAre;

using Ids = std::vector<std::string>;

constexpr auto kSync = KubeletProfile::kSync;
const ContainerKey kKey{"pod", "c", "a/b"};

DeviceTable Table(const std::vector<SimDevice>& list) {
  DeviceTable table;
  table.Update(list);
  return table;
}

std::string Refusal(KubeletProfile profile, std::size_t wanted, const ContainerDevices* held,
                    const DeviceTable* table, bool allocated) {
  const auto start = StartAdmission(profile, kKey, wanted, held, table, allocated);
  return start ? "" : start.error().message;
}

TEST(StartAdmission, AdmitsUnknownResourcesWithoutDevices) {
  EXPECT_EQ(*StartAdmission(kSync, kKey, 1, nullptr, nullptr, false), AdmissionStart::kWithout);
}

TEST(StartAdmission, RejectsWithTheMessagesOfTheKubelet) {
  const DeviceTable healthy = Table({{"x", "Healthy", {}}, {"y", "Healthy", {}}});
  const DeviceTable sick = Table({{"x", "Unhealthy", {}}});
  const ContainerDevices held{{"x"}, {}}, lost{{"z"}, {}};
  EXPECT_EQ(Refusal(kSync, 1, nullptr, nullptr, true), "cannot allocate unregistered device a/b");
  EXPECT_EQ(Refusal(KubeletProfile::kAsync, 1, nullptr, nullptr, true),
            "can't allocate unregistered device a/b");
  EXPECT_EQ(Refusal(kSync, 1, nullptr, &sick, false),
            "no healthy devices present; cannot allocate unhealthy devices a/b");
  EXPECT_EQ(Refusal(kSync, 1, &lost, &healthy, true),
            "previously allocated devices are no longer healthy; cannot allocate unhealthy devices "
            "a/b");
  EXPECT_EQ(Refusal(kSync, 2, &held, &healthy, true),
            "pod \"pod\" container \"c\" changed request for resource \"a/b\" from 1 to 2");
}

TEST(StartAdmission, ReusesDevicesOfTheContainer) {
  const DeviceTable healthy = Table({{"x", "Healthy", {}}});
  const DeviceTable sick = Table({{"x", "Unhealthy", {}}});
  const ContainerDevices held{{"x"}, {}};
  EXPECT_EQ(*StartAdmission(kSync, kKey, 1, &held, &healthy, true), AdmissionStart::kReuse);
  EXPECT_EQ(*StartAdmission(kSync, kKey, 0, nullptr, &healthy, true), AdmissionStart::kReuse);
  EXPECT_EQ(*StartAdmission(KubeletProfile::kAsync, kKey, 1, &held, &sick, true),
            AdmissionStart::kReuse);
}

class Choice : public testing::Test {
 protected:
  Result<DeviceChoice> Begin(std::size_t wanted, const std::set<std::string>& in_use = {},
                             const std::set<std::int64_t>& numa = {}) {
    return BeginChoice("a/b", wanted, table_, in_use, numa, random_);
  }

  std::mt19937_64 random_{1};
  DeviceTable table_ = Table({{"a", "Healthy", {0}},
                              {"b", "Healthy", {0}},
                              {"c", "Healthy", {1}},
                              {"d", "Healthy", {}},
                              {"e", "Unhealthy", {0}}});
};

TEST_F(Choice, OffersAllFreeHealthyDevicesWithoutAHint) {
  const auto choice = Begin(2, {"b"});
  ASSERT_TRUE(choice);
  EXPECT_THAT(choice->available, UnorderedElementsAre("a", "c", "d"));
  EXPECT_THAT(choice->taken, IsEmpty());
}

TEST_F(Choice, FailsWhenThereAreTooFew) {
  EXPECT_EQ(Begin(4, {"b"}).error().message,
            "requested number of devices unavailable for a/b. Requested: 4, Available: 3");
}

TEST_F(Choice, OffersOnlyTheAlignedWhenTheyAreMoreThanNeeded) {
  const auto choice = Begin(1, {}, {0});
  ASSERT_TRUE(choice);
  EXPECT_THAT(choice->available, UnorderedElementsAre("a", "b"));
  EXPECT_THAT(CompleteChoice(*choice, {"c"}, random_), IsSubsetOf(Ids{"a", "b"}));
}

TEST_F(Choice, SkipsThePluginIfTheAlignedAreExactlyEnough) {
  const auto choice = Begin(2, {}, {0});
  ASSERT_TRUE(choice);
  EXPECT_THAT(choice->available, IsEmpty());
  EXPECT_THAT(CompleteChoice(*choice, {}, random_), UnorderedElementsAre("a", "b"));
}

TEST_F(Choice, MustIncludeTheAlignedWhenTheyAreTooFew) {
  const auto choice = Begin(3, {}, {0});
  ASSERT_TRUE(choice);
  EXPECT_THAT(choice->taken, UnorderedElementsAre("a", "b"));
  EXPECT_THAT(choice->available, UnorderedElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(CompleteChoice(*choice, {"d"}, random_), UnorderedElementsAre("a", "b", "d"));
  EXPECT_THAT(CompleteChoice(*choice, {}, random_), UnorderedElementsAre("a", "b", "c"));
}

TEST_F(Choice, DropsUnavailableIdsAndFillsUp) {
  const auto choice = Begin(2, {"b"});
  ASSERT_TRUE(choice);
  const Ids ids = CompleteChoice(*choice, {"b", "e", "zzz", "c", "c"}, random_);
  EXPECT_THAT(ids, SizeIs(2));
  EXPECT_THAT(ids, Contains("c"));
  EXPECT_THAT(ids, Contains(AnyOf("a", "d")));
}

TEST_F(Choice, TruncatesTooManyIds) {
  const auto choice = Begin(2);
  ASSERT_TRUE(choice);
  const Ids ids = CompleteChoice(*choice, {"a", "b", "c"}, random_);
  EXPECT_THAT(ids, SizeIs(2));
  EXPECT_THAT(ids, IsSubsetOf(Ids{"a", "b", "c"}));
}

}  // namespace
}  // namespace patchbay
