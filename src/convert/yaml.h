#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "convert/diagnostics.h"

namespace patchbay {

struct YamlEntry;

/// A value of a YAML document and its location. Aliases are replaced by copies of their values.
struct YamlValue {
  enum class Kind { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  SourceLocation place;
  std::string text = {};           ///< of a scalar
  bool is_quoted = false;          ///< a scalar in quotes or a block scalar: always a string
  std::vector<YamlValue> items;    ///< of a list
  std::vector<YamlEntry> entries;  ///< of a map, in the order of the file

  bool IsList() const { return kind == Kind::kList; }
  bool IsMap() const { return kind == Kind::kMap; }
  bool IsScalar() const { return kind == Kind::kScalar; }

  /// Returns the value of a key of a map, or null if there is none. Ignores the case of ASCII
  /// letters, like Go (pkg.go.dev/encoding/json#Unmarshal). Returns the first of several matches.
  const YamlValue* Find(std::string_view key) const;
};

struct YamlEntry {
  YamlValue key;
  YamlValue value;
};

/// Maps a line and a column of a text, both from 1, to a location in the file that contains the
/// text.
using PlaceOf = std::function<SourceLocation(int line, int column)>;

/// The limits for all texts of one input together, with aliases expanded.
struct YamlBudget {
  std::size_t values = 200'000;
  std::size_t bytes = 16U << 20;  ///< of scalars, and of copies of them for containers
};

/// Parses the documents of a text. JSON is accepted too, because it is a subset of YAML. The text
/// may be any bytes. If it is not valid YAML, nested too deeply, or too large with its aliases
/// expanded, adds a finding and returns no documents. Duplicate keys and keys that are not scalars
/// are findings too. An alias that is a key can be directly followed by its colon. Does not throw.
std::vector<YamlValue> ReadYaml(const std::string& text, const PlaceOf& place_of,
                                YamlBudget& budget, Findings& findings);

/// Returns what to do about a template of Helm, "{{ … }}", or a substitution of Flux, "${…}", in a
/// text whose value is therefore not known. Returns "" if it contains neither.
std::string HintOnTemplate(std::string_view text);

/// Returns whether a word is one of `words`.
bool IsAmong(std::string_view word, std::span<const std::string_view> words);

/// The lines of a text, without line ends. The text must outlive them.
using TextLines = std::vector<std::string_view>;
TextLines LinesOf(std::string_view text);

/// Returns a function that maps locations in the text of a scalar to locations in the file, whose
/// lines are `source`. If a location cannot be determined, as in folded text, the function returns
/// the location of the scalar. The time depends on the size of the scalar, not of the file.
PlaceOf PlacesIn(const YamlValue& scalar, const TextLines& source);

}  // namespace patchbay
