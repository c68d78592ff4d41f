#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "convert/diagnostics.h"
#include "convert/yaml.h"

namespace patchbay {

/// The keys of one map of a foreign file, each with its type. What is of another type is a finding
/// and comes back as if it were not there. Null is as good as absent.
class Fields {
 public:
  /// Reports the keys that are not among `known`, which `owner`, a program, ignores.
  Fields(const YamlValue& map, std::string_view owner, std::span<const std::string_view> known,
         Findings& findings);

  const YamlValue* Find(std::string_view key) const;
  std::optional<std::string> Text(std::string_view key) const;
  bool Flag(std::string_view key) const;
  /// A whole number from 0 to `most`; what is beyond that cannot be said in Patchbay. `otherwise`
  /// if there is none, or it is a finding.
  std::int64_t Number(std::string_view key, std::int64_t most, std::int64_t otherwise) const;
  /// The items of a list, none where there is no list.
  std::span<const YamlValue> List(std::string_view key) const;
  /// The place of the value, or of the map.
  SourceLocation PlaceOfKey(std::string_view key) const;

 private:
  const YamlValue& map_;
  Findings& findings_;
};

/// Whether `value` is a map; a finding where it is not.
bool ExpectMap(const YamlValue& value, std::string_view what, Findings& findings);

}  // namespace patchbay
