#include <gmock/gmock.h>

#include "support/temp_tree.h"
#include "unit/discovery/specs.h"

namespace patchbay {
namespace {

using test::CountMatch;
using test::Ids;
using test::Rejected;
using test::Resource;
using test::WithId;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class CountSourceTest : public testing::Test {
 protected:
  Discovery Find(const ResourceSpec& spec) const { return Discover(spec, host_, "node-1"); }

  test::TempTree tree_;
  HostRoot host_{tree_.path()};
};

TEST_F(CountSourceTest, NumbersItsDevices) {
  const Discovery found = Find(Resource({CountMatch(3)}));
  EXPECT_THAT(Ids(found), ElementsAre("0", "1", "2"));
  for (const Device& device : found.devices) {
    EXPECT_THAT(device.nodes, IsEmpty());
    EXPECT_THAT(device.values, IsEmpty());
  }
  EXPECT_THAT(found.directories, IsEmpty());
  EXPECT_TRUE(found.complete);
}

TEST_F(CountSourceTest, NamesItsDevicesByTheirIndex) {
  const Discovery found = Find(
      Resource({WithId(CountMatch(2), "lic-{index}"), WithId(CountMatch(1), "spare-{index}")}));
  EXPECT_THAT(Ids(found), ElementsAre("lic-0", "lic-1", "spare-0"));
}

TEST_F(CountSourceTest, CountZeroListsNothing) {
  EXPECT_THAT(Ids(Find(Resource({CountMatch(0)}))), IsEmpty());
}

TEST_F(CountSourceTest, ListsTenThousandDevicesInNumericOrder) {
  ResourceSpec spec = Resource({CountMatch(10'000)});
  spec.replicas = 100;
  const Discovery found = Find(spec);
  ASSERT_THAT(found.devices, SizeIs(10'000));
  for (std::size_t i = 0; i < found.devices.size(); ++i) {
    ASSERT_EQ(found.devices[i].id, std::to_string(i));
  }
}

TEST_F(CountSourceTest, RejectsDevicesBeyondTheLimit) {
  constexpr std::size_t kMost = ScanShare::kMax / ScanShare::kDevice;
  const Discovery found = Find(Resource({CountMatch(static_cast<int>(kMost) + 2)}));
  EXPECT_THAT(found.devices, SizeIs(kMost));
  EXPECT_THAT(Rejected(found.rejected), ElementsAre(Format("limit {}", kMost)));
  EXPECT_FALSE(found.complete);
}

TEST_F(CountSourceTest, RejectsEqualIdsOfTwoCounts) {
  const Discovery collided = Find(Resource({CountMatch(2), CountMatch(1)}));
  EXPECT_THAT(Ids(collided), ElementsAre("1"));
  EXPECT_THAT(Rejected(collided.rejected), ElementsAre("duplicate_id 0", "duplicate_id 0"));

  const Discovery same_name = Find(Resource({WithId(CountMatch(2), "{node_name}")}));
  EXPECT_THAT(Ids(same_name), IsEmpty());
  EXPECT_THAT(same_name.rejected, SizeIs(2));
}

}  // namespace
}  // namespace patchbay
