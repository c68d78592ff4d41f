#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "convert/diagnostics.h"

namespace patchbay {

struct YamlEntry;

/// A value of a YAML document and where it stands. Plain values; aliases are already followed.
struct YamlValue {
  enum class Kind { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  SourceLocation place;
  std::string text = {};         ///< of a scalar
  bool is_quoted = false;        ///< a scalar in quotes or a block, which is text whatever it holds
  std::vector<YamlValue> items;  ///< of a list
  std::vector<YamlEntry> entries;  ///< of a map, in the order of the file

  bool IsList() const { return kind == Kind::kList; }
  bool IsMap() const { return kind == Kind::kMap; }
  bool IsScalar() const { return kind == Kind::kScalar; }

  /// The value of a key of a map, whose name is compared without case, as Go compares the names of
  /// JSON; null where there is none. The first of several.
  const YamlValue* Find(std::string_view key) const;
};

struct YamlEntry {
  YamlValue key;
  YamlValue value;
};

/// Where a line and a column of a text, both from 1, stand in the file that holds the text.
using PlaceOf = std::function<SourceLocation(int line, int column)>;

/// The documents of a text; JSON is YAML as well. Any bytes may come in: what is no YAML, too deep,
/// or too large when its aliases are followed, is a finding, and then there are no documents; so is
/// a key that is there twice. Throws nothing.
std::vector<YamlValue> ReadYaml(const std::string& text, const PlaceOf& place_of,
                                Findings& findings);

/// The lines of a text, without their ends. They must not outlive it.
using TextLines = std::vector<std::string_view>;
TextLines LinesOf(std::string_view text);

/// How places in the text of a scalar become places in the file that the scalar is in, whose lines
/// are `source`. Where that cannot be told, as in folded text, it is the place of the scalar. Takes
/// as long as the scalar has bytes, however long the file is.
PlaceOf PlacesIn(const YamlValue& scalar, const TextLines& source);

}  // namespace patchbay
