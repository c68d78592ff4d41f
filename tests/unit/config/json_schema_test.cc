#include "config/json_schema.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "config/keys.h"

namespace patchbay {
namespace {

using Json = nlohmann::json;

/// Returns the schema of a section that can appear once or several times.
const Json& SectionIn(const Json& schema, std::string_view section) {
  const Json* at = &schema;
  while (!section.empty()) {
    const auto dot = std::min(section.find('.'), section.size());
    at = &at->at("properties").at(std::string(section.substr(0, dot)));
    if (at->contains("items")) at = &at->at("items");
    section.remove_prefix(std::min(dot + 1, section.size()));
  }
  return *at;
}

TEST(JsonSchema, ContainsExactlyTheKeysOfEachSection) {
  const Json schema = JsonSchema();
  std::map<std::string, std::set<std::string>> expected, found;
  for (const KeyInfo& key : AllKeys()) {
    const std::string section(key.section);
    const Json& in = SectionIn(schema, section);
    EXPECT_EQ(in.at("additionalProperties"), false) << section;
    expected[section].emplace(key.name);
    found[section].clear();
    for (const auto& [name, value] : in.at("properties").items()) found[section].insert(name);
    const Json& value = in.at("properties").at(std::string(key.name));
    const bool is_required =
        in.contains("required") &&
        std::count(in["required"].begin(), in["required"].end(), std::string(key.name)) == 1;
    EXPECT_EQ(is_required, key.required) << key.name;
    EXPECT_EQ(value.value("default", Json()),
              key.default_value.empty() ? Json() : Json::parse(key.default_value))
        << key.name;
  }
  EXPECT_EQ(found, expected);
}

TEST(JsonSchema, RangesAndChoicesMatchTheKeyTable) {
  const Json schema = JsonSchema();
  for (const KeyInfo& key : AllKeys()) {
    const Json& value = SectionIn(schema, key.section).at("properties").at(std::string(key.name));
    if (key.type == ValueType::kInteger) {
      EXPECT_EQ(value.at("minimum"), key.range.min) << key.name;
      EXPECT_EQ(value.at("maximum"), key.range.max) << key.name;
    }
    if (!key.choices.empty()) {
      EXPECT_EQ(value.at("enum"), Json(key.choices)) << key.name;
    }
    EXPECT_NE(value.at("description").get<std::string>().find(key.meaning.substr(1)),
              std::string::npos)
        << key.name;
  }
}

}  // namespace
}  // namespace patchbay
