#include "base/format.h"
#include "config/duration.h"
#include "config/keys.h"
#include "config/reporter.h"

namespace patchbay {

std::string_view Name(ValueType type) {
  switch (type) {
    case ValueType::kString: return "string";
    case ValueType::kTemplate: return "template";
    case ValueType::kStringOrStrings: return "string or list of strings";
    case ValueType::kStrings: return "list of strings";
    case ValueType::kTemplates: return "list of templates";
    case ValueType::kChoice: return "word";
    case ValueType::kInteger: return "whole number";
    case ValueType::kBoolean: return "boolean";
    case ValueType::kDuration: return "duration";
    case ValueType::kTemplateTable: return "table of templates";
    case ValueType::kPatternTable: return "table of patterns";
    case ValueType::kAttributeTable: return "table of attributes";
    case ValueType::kTable: return "table";
    case ValueType::kTables: return "list of tables";
  }
  return "";
}

std::string TypeText(const KeyInfo& key) {
  if (!key.choices.empty()) return OneOf(key.choices);
  const auto shown = [&](std::int64_t n) {
    return key.type == ValueType::kDuration ? FormatDuration(std::chrono::milliseconds(n))
                                            : std::to_string(n);
  };
  std::string text(Name(key.type));
  if (key.range.max != Range().max) {
    text += Format(", {} to {}", shown(key.range.min), shown(key.range.max));
  }
  return text;
}

std::string SectionTitle(std::string_view section) {
  if (section.empty()) return "the top level";
  const auto dot = section.rfind('.');
  const std::string_view parent = dot == std::string_view::npos ? "" : section.substr(0, dot);
  const std::string_view name = dot == std::string_view::npos ? section : section.substr(dot + 1);
  for (const KeyInfo& key : AllKeys()) {
    if (key.section == parent && key.name == name && key.type == ValueType::kTables) {
      return Format("[[{}]]", section);
    }
  }
  return Format("[{}]", section);
}

}  // namespace patchbay
