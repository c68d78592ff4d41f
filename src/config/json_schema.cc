// SectionSchema returns an object schema for a section, KeySchema the schema of one key, and Rules
// the relations between the keys of a section.
// Sections are nested inline, and rules are in the `then` of an `if` that is always true;
// json_schema.h explains why. Most rules have the form "if the section has key A, then it has none
// of the keys B", so that validators and editors report the error at the unwanted key.

#include "config/json_schema.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/ascii.h"
#include "base/format.h"
#include "config/keys.h"
#include "model/attribute.h"
#include "model/capacity.h"
#include "model/template.h"

namespace patchbay {
namespace {

using Json = nlohmann::ordered_json;

constexpr bool kForbidden = false;  // as a schema that rejects every value

/// Returns the description of a key in Markdown: a paragraph with its meaning and one with its type
/// and default.
std::string Describe(const KeyInfo& key) {
  std::string text(key.meaning);
  if (IsLower(text[0])) text[0] = static_cast<char>(text[0] - 'a' + 'A');
  text += ".";
  if (key.table.empty()) text += Format("\n\nTakes: {}.", TypeText(key));
  if (key.required) text += " Required.";
  if (!key.default_value.empty()) text += Format(" Default: `{}`.", key.default_value);
  return text;
}

Json StringSchema(bool non_empty) {
  Json text = {{"type", "string"}};
  if (non_empty) text["minLength"] = 1;
  return text;
}

Json TemplateSchema(bool non_empty) {
  Json text = StringSchema(non_empty);
  text["maxLength"] = Template::kMaxResult;
  return text;
}

Json List(Json item, bool non_empty) {
  Json list = {{"type", "array"}};
  if (non_empty) list["minItems"] = 1;
  list["items"] = std::move(item);
  return list;
}

Json StringOrStrings(bool non_empty) {
  Json either = List(StringSchema(false), non_empty);
  either["type"] = {"string", "array"};
  return either;
}

/// Returns the schema of an attribute: a template, or a table with its type and a template.
Json AttributeSchema() {
  Json typed = Json::object();
  for (const std::string_view type : kAttributeTypeNames) {
    typed[std::string(type)] = TemplateSchema(false);
  }
  Json text = TemplateSchema(false);
  Json table = {{"type", "object"},
                {"additionalProperties", false},
                {"properties", std::move(typed)},
                {"minProperties", 1},
                {"maxProperties", 1}};
  return {{"anyOf", Json::array({std::move(text), std::move(table)})}};
}

/// Returns the schema of a capacity: a template, or a table with a template and its shares.
Json CapacitySchema() {
  Json parts = Json::object();
  for (const std::string_view key : kCapacityKeys) parts[std::string(key)] = StringSchema(true);
  Json text = TemplateSchema(true);
  parts["value"] = text;
  Json table = {{"type", "object"},
                {"additionalProperties", false},
                {"properties", std::move(parts)},
                {"required", {kCapacityKeys[0]}}};
  return {{"anyOf", Json::array({std::move(text), std::move(table)})}};
}

Json SectionSchema(std::string_view section);

/// Returns the schema of a table with arbitrary keys, except those of other sections.
Json TableOf(const KeyInfo& table, Json value) {
  std::set<std::string_view> misplaced;
  for (const KeyInfo& key : AllKeys()) {
    if (IsMisplaced(table, key.name)) misplaced.insert(key.name);
  }
  return {{"type", "object"},
          {"additionalProperties", std::move(value)},
          {"propertyNames", {{"not", {{"enum", std::move(misplaced)}}}}}};
}

/// Returns the schema of the values of a key, without title and description.
Json ValueSchema(const KeyInfo& key) {
  switch (key.type) {
    case ValueType::kString: return StringSchema(key.non_empty);
    case ValueType::kTemplate: return TemplateSchema(key.non_empty);
    case ValueType::kStrings: return List(StringSchema(false), key.non_empty);
    case ValueType::kTemplates: return List(TemplateSchema(false), key.non_empty);
    case ValueType::kStringOrStrings: return StringOrStrings(key.non_empty);
    case ValueType::kChoice: return {{"type", "string"}, {"enum", key.choices}};
    case ValueType::kInteger:
      return {{"type", "integer"}, {"minimum", key.range.min}, {"maximum", key.range.max}};
    case ValueType::kBoolean: return {{"type", "boolean"}};
    case ValueType::kDuration: return StringSchema(false);
    case ValueType::kTemplateTable: return TableOf(key, TemplateSchema(false));
    case ValueType::kPatternTable: return TableOf(key, StringOrStrings(true));
    case ValueType::kAttributeTable: return TableOf(key, AttributeSchema());
    case ValueType::kCapacityTable: return TableOf(key, CapacitySchema());
    case ValueType::kTable: {
      Json table = SectionSchema(key.table);
      if (key.non_empty) table["minProperties"] = 1;
      return table;
    }
    case ValueType::kTables: return List(SectionSchema(key.table), key.non_empty);
  }
  return {};
}

Json KeySchema(const KeyInfo& key) {
  Json schema = {{"title", key.name}, {"description", Describe(key)}};
  if (!key.default_value.empty()) schema["default"] = Json::parse(key.default_value);
  if (!key.example.empty()) schema["examples"] = Json::array({Json::parse(key.example)});
  schema.update(ValueSchema(key));
  return schema;
}

bool IsSwitch(const KeyInfo& key) { return key.type == ValueType::kBoolean; }

/// Returns a schema for sections that have the key. A boolean key that is false counts as absent.
Json Has(const KeyInfo& key) {
  Json has = {{"required", {key.name}}};
  if (IsSwitch(key)) has["properties"][std::string(key.name)] = {{"const", true}};
  return has;
}

/// Returns a schema for sections that have none of the keys. Validators report a violation at the
/// location of the key.
Json HasNone(const std::vector<KeyInfo>& keys) {
  Json none = Json::object();
  for (const KeyInfo& key : keys) {
    none[std::string(key.name)] = IsSwitch(key) ? Json({{"const", false}}) : Json(kForbidden);
  }
  return {{"properties", none}};
}

/// Returns a schema for sections that have one of the keys, combined by `anyOf` or `oneOf`.
Json HasOneOf(const std::vector<KeyInfo>& keys, const char* combined) {
  if (keys.size() == 1) return Has(keys.front());
  Json some = Json::array();
  for (const KeyInfo& key : keys) some.push_back(Has(key));
  return {{combined, some}};
}

std::vector<KeyInfo> Named(std::string_view names, std::span<const KeyInfo> section) {
  std::vector<KeyInfo> keys;
  for (const std::string_view name : Words(names)) keys.push_back(*FindKey(section, name));
  return keys;
}

/// Adds the rules on alternatives: a section has at least one, and only one of its lowest group,
/// without the keys that this one excludes.
void AddAlternatives(std::span<const KeyInfo> section, Json& rules) {
  std::map<int, std::vector<KeyInfo>> groups;
  std::vector<KeyInfo> lower;
  for (const KeyInfo& key : section) {
    if (key.alternative_group != 0) groups[key.alternative_group].push_back(key);
  }
  for (const auto& [group, keys] : groups) {
    for (const KeyInfo& key : keys) {
      std::vector<KeyInfo> others = keys;
      std::erase_if(others, [&](const KeyInfo& other) { return other.name == key.name; });
      for (const KeyInfo& other : Named(key.excludes, section)) others.push_back(other);
      Json alone = others.empty() ? Json::object() : HasNone(others);
      if (!key.alternative_requires.empty()) {
        alone["properties"][std::string(key.name)] = {{"required", {key.alternative_requires}}};
      }
      if (alone.empty()) continue;
      Json rule = {{"if", Has(key)}, {"then", alone}};
      if (!lower.empty()) rule = {{"if", HasOneOf(lower, "anyOf")}, {"else", rule}};
      rules.push_back(rule);
    }
    lower.insert(lower.end(), keys.begin(), keys.end());
  }
  if (!lower.empty()) rules.push_back(HasOneOf(lower, "anyOf"));
}

/// Returns the relations between the keys of a section as a list of schemas.
Json Rules(std::span<const KeyInfo> section) {
  Json rules = Json::array();
  AddAlternatives(section, rules);
  for (const KeyInfo& key : section) {
    if (!key.needs.empty()) {
      rules.push_back(
          {{"if", HasOneOf(Named(key.needs, section), "oneOf")}, {"else", HasNone({key})}});
    }
    if (!key.excludes.empty() && key.alternative_group == 0) {
      rules.push_back({{"if", Has(key)}, {"then", HasNone(Named(key.excludes, section))}});
    }
  }
  return rules;
}

Json SectionSchema(std::string_view section) {
  const std::span<const KeyInfo> keys = KeysOf(section);
  Json properties = Json::object(), required = Json::array();
  for (const KeyInfo& key : keys) {
    properties[std::string(key.name)] = KeySchema(key);
    if (key.required) required.push_back(key.name);
  }
  Json schema = {{"type", "object"}, {"additionalProperties", false}};
  if (!required.empty()) schema["required"] = std::move(required);
  schema["properties"] = std::move(properties);
  if (Json rules = Rules(keys); !rules.empty()) {
    schema["if"] = true;
    schema["then"] = {{"allOf", std::move(rules)}};
  }
  return schema;
}

}  // namespace

Json JsonSchema() {
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                 {"title", "Patchbay"},
                 {"description",
                  "The configuration of Patchbay: which devices of a node belong to "
                  "which extended resource, and what a container gets with them."}};
  schema.update(SectionSchema(""));
  return schema;
}

}  // namespace patchbay
