#include "api_server_sim/object_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay::api_sim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const ObjectKey kA{Kind::kResourceSlice, "", "a"};
const ObjectKey kB{Kind::kResourceSlice, "", "b"};
const ObjectKey kClass{Kind::kDeviceClass, "", "a"};

std::vector<std::string> Names(const std::map<ObjectKey, Object>& objects) {
  std::vector<std::string> names;
  names.reserve(objects.size());
  for (const auto& [key, object] : objects) {
    names.push_back(key.name + object->value("value", ""));
  }
  return names;
}

Json Value(const std::string& value) { return {{"value", value}}; }

TEST(ObjectStore, CountsVersions) {
  ObjectStore store(10);
  const Object first = store.Put(kA, Value("1"));
  EXPECT_EQ((*first)["metadata"]["resourceVersion"], "2");
  EXPECT_EQ((*store.Put(kA, Value("2")))["metadata"]["resourceVersion"], "3");
  EXPECT_EQ((*store.Remove(kA))["metadata"]["resourceVersion"], "4");
  EXPECT_EQ(store.version(), 4U);
  EXPECT_EQ(store.Find(kA), nullptr);
  EXPECT_EQ(store.Remove(kA), nullptr);
  EXPECT_EQ(store.version(), 4U);
  EXPECT_EQ((*first)["value"], "1");
}

TEST(ObjectStore, ReturnsChangesInOrder) {
  ObjectStore store(10);
  store.Put(kA, Value("1"));
  const std::uint64_t version = store.version();
  EXPECT_THAT(store.ChangesAfter(version), IsEmpty());
  store.Put(kB, Value("1"));
  store.Put(kA, Value("2"));
  store.Remove(kB);
  std::vector<ChangeType> types;
  for (const Change* change : store.ChangesAfter(version)) types.push_back(change->type);
  EXPECT_THAT(types, ElementsAre(ChangeType::kAdded, ChangeType::kModified, ChangeType::kDeleted));
}

TEST(ObjectStore, ListsAnOlderVersion) {
  ObjectStore store(10);
  store.Put(kA, Value("1"));
  store.Put(kClass, Value("1"));
  const std::uint64_t version = store.version();
  store.Put(kB, Value("1"));
  store.Put(kA, Value("2"));
  store.Put(kA, Value("3"));
  EXPECT_THAT(Names(store.List(Kind::kResourceSlice)), ElementsAre("a3", "b1"));
  store.Remove(kA);
  EXPECT_THAT(Names(store.ListAt(Kind::kResourceSlice, version)), ElementsAre("a1"));
  EXPECT_THAT(Names(store.List(Kind::kResourceSlice)), ElementsAre("b1"));
}

TEST(ObjectStore, ForgetsOldChanges) {
  ObjectStore store(2);
  EXPECT_EQ(store.oldest_version(), 1U);
  for (int i = 0; i < 5; ++i) store.Put(kA, Value("x"));
  EXPECT_EQ(store.version(), 6U);
  EXPECT_EQ(store.oldest_version(), 4U);
  EXPECT_EQ(store.ChangesAfter(4).size(), 2U);
  store.Compact();
  EXPECT_EQ(store.oldest_version(), 6U);
  EXPECT_THAT(Names(store.List(Kind::kResourceSlice)), ElementsAre("ax"));
}

}  // namespace
}  // namespace patchbay::api_sim
