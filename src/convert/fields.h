#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "convert/diagnostics.h"
#include "convert/yaml.h"

namespace patchbay {

/// Typed access to the keys of one map in a file of another plugin. A value of the wrong type is a
/// finding, and so is a template or substitution, whose value is not known; the accessor then
/// returns a default. Null counts as absent. The findings must outlive the object.
class Fields {
 public:
  /// Reports the keys that are not in `known`, if the map contains no others (`is_closed`). `owner`
  /// is the plugin, which ignores them.
  Fields(const YamlValue& map, std::string_view owner, std::span<const std::string_view> known,
         Findings& findings, bool is_closed = true);

  YamlValue Find(std::string_view key) const;
  std::optional<std::string> Text(std::string_view key) const;
  /// False if absent.
  bool Flag(std::string_view key) const;
  /// A whole number from 0 to `max`, which is Patchbay's limit. Returns `otherwise` if the key is
  /// absent or its value is a finding.
  std::int64_t Number(std::string_view key, std::int64_t max, std::int64_t otherwise) const;
  /// The items of a list; empty if absent.
  std::vector<YamlValue> List(std::string_view key) const;
  /// The location of the value, or of the map if the key is absent.
  SourceLocation PlaceOfKey(std::string_view key) const;

 private:
  bool IsKnown(std::string_view key, const YamlValue& value) const;

  YamlValue map_;
  Findings& findings_;
};

/// Returns whether `value` is a map. Otherwise adds a finding that refers to the value as `what`.
bool ExpectMap(const YamlValue& value, std::string_view what, Findings& findings);

}  // namespace patchbay
