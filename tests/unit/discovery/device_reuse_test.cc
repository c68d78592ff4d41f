// A device that a scan finds as it was listed is the same object, and only then.

#include <gmock/gmock.h>
#include <unistd.h>

#include <map>
#include <random>

#include "support/sanitizer.h"
#include "support/temp_tree.h"
#include "unit/discovery/specs.h"

namespace patchbay {
namespace {

using test::Grouped;
using test::Ids;
using test::PathMatch;
using test::RegexMatch;
using test::Resource;
using test::WithId;
using test::Without;
using testing::ElementsAre;

/// Scans of one resource, as ResourceController requests them: each gets the devices of the last.
class Scans {
 public:
  Scans(const std::string& root, std::vector<MatchSpec> matches)
      : host_(root), spec_(std::make_shared<ResourceSpec>(Resource(std::move(matches)))) {}

  void SetSpec(ResourceSpec spec) { spec_ = std::make_shared<ResourceSpec>(std::move(spec)); }
  const ResourceSpec& spec() const { return *spec_; }

  Discovery Next() {
    Discovery found = Discover(*spec_, host_, request_);
    request_.before = ListOf(found.devices.shared());
    return found;
  }
  /// Scans with copies of the listed devices.
  Discovery WithCopies() const {
    std::vector<std::shared_ptr<const Device>> copies;
    for (const ListedDevice& listed : request_.before->devices) {
      copies.push_back(std::make_shared<const Device>(*listed.device));
    }
    return Discover(*spec_, host_, ScanRequest{.before = ListOf(copies)});
  }

 private:
  std::shared_ptr<const Snapshot> ListOf(
      const std::vector<std::shared_ptr<const Device>>& devices) const {
    auto snapshot = std::make_shared<Snapshot>(Snapshot{spec_, 1, {}, {}});
    for (const auto& device : devices) {
      snapshot->devices.push_back({device, Health::kHealthy, ""});
    }
    return snapshot;
  }

  HostRoot host_;
  std::shared_ptr<const ResourceSpec> spec_;
  ScanRequest request_;
};

class DeviceReuseTest : public testing::Test {
 protected:
  static MatchSpec Files(std::string_view glob) { return PathMatch({glob}, NodeType::kAny); }
  static std::map<std::string, std::shared_ptr<const Device>> Objects(const Discovery& found) {
    std::map<std::string, std::shared_ptr<const Device>> objects;
    for (const auto& device : found.devices.shared()) objects[device->id] = device;
    return objects;
  }

  test::TempTree tree_;
};

TEST_F(DeviceReuseTest, EqualDevicesAreTheListedObjects) {
  for (const char* path : {"dev/a/x1", "dev/a/x2", "dev/b/x1"}) tree_.File(path);
  Scans scans(tree_.path(), {Files("/dev/*/x*")});
  const Discovery first = scans.Next();
  tree_.File("dev/b/x2");
  const Discovery second = scans.Next();
  EXPECT_THAT(Ids(second), ElementsAre("a:x1", "a:x2", "b:x1", "b:x2"));
  for (const auto& [id, device] : Objects(first)) EXPECT_EQ(Objects(second).at(id), device) << id;
}

TEST_F(DeviceReuseTest, KeepsNamedGroupsOfARegex) {
  tree_.File("dev/x7");
  Scans scans(tree_.path(), {WithId(RegexMatch("/dev/x(?P<n>[0-9]+)", NodeType::kAny), "n{n}")});
  const Discovery first = scans.Next();
  tree_.File("dev/x8");
  const Discovery second = scans.Next();
  EXPECT_THAT(Ids(second), ElementsAre("n7", "n8"));
  EXPECT_EQ(Objects(second).at("n7"), Objects(first).at("n7"));
}

TEST_F(DeviceReuseTest, AReplacedNodeIsAnotherDevice) {
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  tree_.CharDevice("dev/x1", 240, 1);
  tree_.CharDevice("dev/x2", 240, 2);
  Scans scans(tree_.path(), {Files("/dev/x*")});
  const Discovery first = scans.Next();
  tree_.Remove("dev/x1");
  tree_.CharDevice("dev/x1", 240, 9);
  const Discovery second = scans.Next();
  EXPECT_EQ(second.devices[0].nodes[0].minor, 9u);
  EXPECT_EQ(Objects(second).at("x2"), Objects(first).at("x2"));
}

TEST_F(DeviceReuseTest, ADirectoryInAnotherPlaceHasOtherDevices) {
  tree_.File("srv/one/x1");
  tree_.Link("dev/l", "/srv/one");
  Scans scans(tree_.path(), {Files("/dev/l/x*")});
  EXPECT_EQ(scans.Next().devices[0].nodes[0].real_path, "/srv/one/x1");
  std::filesystem::rename(tree_.path("srv/one"), tree_.path("srv/two"));
  tree_.Remove("dev/l");
  tree_.Link("dev/l", "/srv/two");
  const Discovery moved = scans.Next();
  EXPECT_EQ(moved.devices[0].nodes[0].real_path, "/srv/two/x1");
}

TEST_F(DeviceReuseTest, AnotherEntryOfTheResourceGivesOtherIds) {
  tree_.File("dev/x1");
  Scans scans(tree_.path(), {Files("/dev/x*")});
  EXPECT_THAT(Ids(scans.Next()), ElementsAre("x1"));
  ResourceSpec spec = scans.spec();
  spec.matches[0].id = test::MakeTemplate("{resource}-{name}");
  scans.SetSpec(spec);
  EXPECT_THAT(Ids(scans.Next()), ElementsAre("example.com:thing-x1"));
}

TEST_F(DeviceReuseTest, AnExclusionElsewhereAppliesToAListedDevice) {
  tree_.File("dev/a/x1");
  tree_.File("dev/a/x2");
  tree_.Dir("dev/by-id");
  Scans scans(tree_.path(), {Without(Files("/dev/a/x*"), "/dev/by-id/system*")});
  EXPECT_THAT(Ids(scans.Next()), ElementsAre("x1", "x2"));
  tree_.Link("dev/by-id/system", "../a/x1");
  EXPECT_THAT(Ids(scans.Next()), ElementsAre("x2"));
}

/// Changes one path below dev.
void ChangeOne(test::TempTree& tree, std::mt19937& random) {
  const auto pick = [&](unsigned count) { return random() % count; };
  const std::string directory = "dev/" + std::string(1, static_cast<char>('a' + pick(3)));
  const std::string path = directory + "/x" + std::to_string(pick(6));
  if (pick(12) == 0) {  // the directory itself is replaced
    std::filesystem::remove_all(tree.path(directory));
    if (pick(2) == 0) tree.Link(directory, std::string(1, static_cast<char>('a' + pick(3))));
    return;
  }
  std::error_code is_loop;
  if (!std::filesystem::exists(std::filesystem::status(tree.path(directory), is_loop))) {
    std::filesystem::remove(tree.path(directory));
    tree.Dir(directory);
  }
  if (std::filesystem::exists(std::filesystem::symlink_status(tree.path(path)))) {
    std::filesystem::remove(tree.path(path));
    if (pick(2) == 0) return;
  }
  switch (pick(geteuid() == 0 ? 4 : 3)) {
    case 0: tree.File(path); break;
    case 1: tree.Link(path, "x" + std::to_string(pick(6))); break;
    case 2:
      tree.Link(path, "../" + std::string(1, static_cast<char>('a' + pick(3))) + "/x1");
      break;
    default: tree.CharDevice(path, 240, pick(5)); break;
  }
}

TEST_F(DeviceReuseTest, AfterAnyChangesExactlyEqualDevicesAreTheListedObjects) {
  MatchSpec limited = Files("/dev/*/x*");
  limited.max_devices = 4;
  const std::vector<std::vector<MatchSpec>> resources = {
      {Files("/dev/*/x*")},
      {Files("/dev/{a,a}/x*")},
      {Files("/dev/{a*,*a}/x*"), Files("/dev/{c*,*c}/x*")},
      {Grouped(Files("/dev/*/x*"), "", {"/dev/*/x1"})},
      {PathMatch({"/dev/a/x*"}), Files("/dev/{b,a}/{x*,*}"), Files("/dev/a/x1")},
      {Files("/dev/{a,b}/x*"), Files("/dev/*/x[1-3]")},
      {limited, Files("/dev/c/*")},
      {PathMatch({"/dev/*/x1", "/dev/a/*"}, NodeType::kAny), WithId(Files("/dev/**"), "{name}")},
      {PathMatch({"/dev/*/x*"})},
      {Without(Files("/dev/*/x*"), "/dev/c/*"), RegexMatch("/dev/c/x(?P<n>.)", NodeType::kAny)},
      {WithId(RegexMatch("/dev/a/x(?P<n>[0-3])?(?P<m>[45])?", NodeType::kAny), "{n}")},
      {Grouped(RegexMatch("/dev/b/x(?P<n>.)", NodeType::kAny), "n"), Files("/dev/*/x*")},
  };
  std::mt19937 random(4711);
  std::size_t reused = 0;
  for (const auto& matches : resources) {
    test::TempTree tree;
    for (const char* directory : {"dev/a", "dev/b", "dev/c"}) tree.Dir(directory);
    Scans scans(tree.path(), matches);
    Discovery last = scans.Next();
    for (int round = 0; round < test::Cases(150); ++round) {
      for (unsigned i = random() % 3; i > 0; --i) ChangeOne(tree, random);
      const Discovery expected = scans.WithCopies();
      const Discovery found = scans.Next();
      ASSERT_EQ(found.devices, expected.devices) << round;
      ASSERT_EQ(found.rejected, expected.rejected) << round;
      ASSERT_EQ(found.directories, expected.directories) << round;
      const auto before = Objects(last);
      for (const auto& [id, device] : Objects(found)) {
        const auto same = before.find(id);
        if (same == before.end()) continue;
        ASSERT_EQ(same->second == device, *same->second == *device) << id;
        reused += same->second == device ? 1 : 0;
      }
      last = found;
    }
  }
  EXPECT_GT(reused, static_cast<std::size_t>(test::Cases(1000)))
      << "the trees have too few devices for a meaningful test";
}

}  // namespace
}  // namespace patchbay
