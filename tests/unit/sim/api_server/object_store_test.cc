#include "sim/api_server/object_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/format.h"

namespace patchbay::api_sim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const ObjectKey kA{.kind = Kind::kResourceSlice, .name = "a"};
const ObjectKey kB{.kind = Kind::kResourceSlice, .name = "b"};
const ObjectKey kClass{.kind = Kind::kDeviceClass, .name = "a"};

Json Value(const std::string& value) { return {{"value", value}}; }

/// Returns the slices at a version after a key, as "a1".
std::vector<std::string> SlicesAt(const ObjectStore& store, std::uint64_t version,
                                  const std::string& after = "") {
  std::vector<std::string> names;
  store.VisitAfter({.kind = Kind::kResourceSlice, .name = after}, version,
                   [&](const ObjectKey& key, const Object& object) {
                     names.push_back(key.name + object->value("value", ""));
                     return true;
                   });
  return names;
}

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
  store.Put(kB, Value("2"));
  std::vector<ChangeType> types;
  for (const Change* change : store.ChangesAfter(version)) types.push_back(change->type);
  EXPECT_THAT(types, ElementsAre(ChangeType::kAdded, ChangeType::kModified, ChangeType::kDeleted,
                                 ChangeType::kAdded));
}

TEST(ObjectStore, ListsAnOlderVersion) {
  ObjectStore store(10);
  store.Put(kA, Value("1"));
  store.Put(kClass, Value("1"));
  const std::uint64_t version = store.version();
  store.Put(kB, Value("1"));
  store.Put(kA, Value("2"));
  store.Put(kA, Value("3"));
  EXPECT_THAT(SlicesAt(store, store.version()), ElementsAre("a3", "b1"));
  store.Remove(kA);
  EXPECT_THAT(SlicesAt(store, version), ElementsAre("a1"));
  EXPECT_THAT(SlicesAt(store, store.version()), ElementsAre("b1"));
  EXPECT_THAT(SlicesAt(store, version, "a"), IsEmpty());
  EXPECT_EQ(store.List(Kind::kResourceSlice).size(), 1U);
}

TEST(ObjectStore, ForgetsOldChanges) {
  ObjectStore store(2);
  EXPECT_EQ(store.oldest_version(), 1U);
  for (int i = 0; i < 5; ++i) store.Put(kA, Value(std::to_string(i)));
  store.Remove(kA);
  store.Put(kB, Value("x"));
  EXPECT_EQ(store.version(), 8U);
  EXPECT_EQ(store.oldest_version(), 6U);
  EXPECT_EQ(store.ChangesAfter(6).size(), 2U);
  EXPECT_THAT(SlicesAt(store, 6), ElementsAre("a4"));
  store.Compact();
  EXPECT_EQ(store.oldest_version(), 8U);
  EXPECT_THAT(SlicesAt(store, 8), ElementsAre("bx"));
}

/// A page shares its objects with the store, and visits no object of another page.
TEST(ObjectStore, ListsTenThousandObjectsInPagesOfOneVersionWhileTheyChange) {
  constexpr int kObjects = 10'001;
  constexpr std::size_t kPage = 500;
  ObjectStore store(10'000);
  const auto key_of = [](int i) {
    return ObjectKey{.kind = Kind::kResourceSlice, .name = Format("slice-{:05}", i)};
  };
  std::vector<Object> stored, listed;
  stored.reserve(kObjects);
  for (int i = 0; i < kObjects; ++i) stored.push_back(store.Put(key_of(i), Value("1")));
  const std::uint64_t version = store.version();
  std::size_t visits = 0;
  int pages = 0;
  for (ObjectKey last{.kind = Kind::kResourceSlice}; listed.size() < kObjects; ++pages) {
    const std::size_t before = listed.size();
    store.VisitAfter(last, version, [&](const ObjectKey& key, const Object& object) {
      ++visits;
      last = key;
      listed.push_back(object);
      return listed.size() - before < kPage;
    });
    ASSERT_GT(listed.size(), before);
    // On both sides of the end of the page, and beyond the end of the list.
    for (const int i : {100 * pages, 400 * pages + 250, 10'000 - pages}) {
      store.Put(key_of(i), Value("2"));
    }
    store.Remove(key_of(300 * pages + 77));
    store.Put(key_of(kObjects + pages), Value("new"));
  }
  EXPECT_EQ(pages, 21);
  EXPECT_EQ(visits, stored.size());
  EXPECT_EQ(listed, stored) << "the same objects, not copies";
  EXPECT_EQ(store.List(Kind::kResourceSlice).size(), stored.size());
}

}  // namespace
}  // namespace patchbay::api_sim
