#include "kube/watch_event.h"

#include <gmock/gmock.h>

#include <string>

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Json = nlohmann::json;

const std::string kObject = R"({"metadata": {"name": "a", "resourceVersion": "7"}, "x": [1]})";

std::string Line(const std::string& type, const std::string& object) {
  return R"({"type":")" + type + R"(","object":)" + object + "}";
}

TEST(WatchLine, ReadsChanges) {
  EXPECT_EQ(std::get<WatchEvent>(*ParseWatchLine(Line("ADDED", kObject))),
            (WatchEvent{WatchEventType::kAdded, Json::parse(kObject), "7"}));
  EXPECT_EQ(std::get<WatchEvent>(*ParseWatchLine(Line("MODIFIED", kObject))).type,
            WatchEventType::kModified);
  EXPECT_EQ(std::get<WatchEvent>(*ParseWatchLine(Line("DELETED", kObject))).type,
            WatchEventType::kDeleted);
}

TEST(WatchLine, ReadsBookmarksAndErrors) {
  EXPECT_EQ(std::get<WatchBookmark>(*ParseWatchLine(Line("BOOKMARK", kObject))),
            WatchBookmark{"7"});
  const auto error = ParseWatchLine(Line("ERROR", R"({"kind": "Status", "code": 410})"));
  EXPECT_EQ(std::get<ApiError>(*error).status, 410u);
}

TEST(WatchLine, RejectsWhatIsNotAnEvent) {
  const std::pair<std::string, const char*> lines[] = {
      {"{", "ends at line 1, column 2"},
      {"[]", "no type"},
      {"{}", "no type"},
      {R"({"type": "ADDED"})", "no object"},
      {R"({"type": 1, "object": {}})", "no type"},
      {Line("ADDED", "1"), "resourceVersion"},
      {Line("ADDED", "{}"), "resourceVersion"},
      {Line("ADDED", R"({"metadata": {"resourceVersion": ""}})"), "resourceVersion"},
      {Line("ADDED", R"({"metadata": {"resourceVersion": "a b"}})"), "resourceVersion"},
      {Line("ADDED", R"({"metadata": {"resourceVersion": ")" + std::string(65, '1') + "\"}}"),
       "resourceVersion"},
      {Line("CHANGED", kObject), "unknown type"},
  };
  for (const auto& [line, problem] : lines) {
    const auto parsed = ParseWatchLine(line);
    ASSERT_FALSE(parsed) << line;
    EXPECT_EQ(parsed.error().kind, ErrorKind::kInvalid);
    EXPECT_THAT(parsed.error().message, HasSubstr(problem)) << line;
  }
}

TEST(ListPage, ReadsItems) {
  const auto page =
      ParseListPage(R"({"metadata": {"resourceVersion": "9", "continue": "abc="}, "items": [)" +
                        kObject + R"(, {"b": 1}]})",
                    2);
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_THAT(page->objects, ElementsAre(Json::parse(kObject), Json({{"b", 1}})));
  EXPECT_EQ(page->resource_version, "9");
  EXPECT_EQ(page->next, "abc=");
}

TEST(ListPage, AcceptsAnEmptyList) {
  for (const char* items : {"[]", "null"}) {
    const auto page = ParseListPage(
        R"({"metadata": {"resourceVersion": "9"}, "items": )" + std::string(items) + "}", 2);
    ASSERT_TRUE(page) << items;
    EXPECT_THAT(page->objects, IsEmpty());
    EXPECT_EQ(page->next, "");
  }
}

TEST(ListPage, RejectsWhatIsNotAList) {
  for (const char* body :
       {"", "[]", "{}", R"({"metadata": {"resourceVersion": "9"}})",
        R"({"metadata": {"resourceVersion": "9"}, "items": {}})",
        R"({"metadata": {"resourceVersion": "9"}, "items": [1]})",
        R"({"metadata": {"resourceVersion": "9", "continue": 5}, "items": []})",
        R"({"metadata": {"resourceVersion": "9"}, "items": [{}, {}, {}]})",
        R"({"metadata": {"resourceVersion": 9}, "items": []})", R"({"items": []})"}) {
    const auto page = ParseListPage(body, 2);
    ASSERT_FALSE(page) << body;
    EXPECT_EQ(page.error().kind, ErrorKind::kInvalid);
  }
}

}  // namespace
}  // namespace patchbay
