#pragma once

#include <yaml-cpp/yaml.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "convert/diagnostics.h"

namespace patchbay {

struct YamlEntry;

/// Maps a line and a column of a text, both from 1, to a location in the file that contains the
/// text.
using PlaceOf = std::function<SourceLocation(int line, int column)>;

/// A value of a YAML document: a node of yaml-cpp, and the location of its text. Copies refer to
/// the same node, and so do all aliases of a value. A value that was not found is false; it is null
/// and has no text, items and entries, so that lookups can be chained.
class YamlValue {
 public:
  YamlValue() = default;
  YamlValue(const YAML::Node& node, std::shared_ptr<const PlaceOf> place_of)
      : node_(node), place_of_(std::move(place_of)) {}
  YamlValue(const YamlValue&) = default;
  /// The assignment of nodes would change the document.
  YamlValue& operator=(YamlValue other) {
    node_.reset(other.node_);
    place_of_ = std::move(other.place_of_);
    return *this;
  }
  ~YamlValue() = default;

  explicit operator bool() const { return place_of_ != nullptr; }
  bool IsNull() const { return node_.IsNull(); }
  bool IsScalar() const { return node_.IsScalar(); }
  bool IsList() const { return node_.IsSequence(); }
  bool IsMap() const { return node_.IsMap(); }
  bool IsEmpty() const { return node_.Scalar().empty() && node_.size() == 0; }
  bool IsSameAs(const YamlValue& other) const { return node_.is(other.node_); }

  const std::string& text() const { return node_.Scalar(); }  ///< of a scalar
  /// Returns whether a scalar is in quotes or a block scalar, so that it is always a string.
  bool is_quoted() const { return IsScalar() && node_.Tag() != "?"; }
  /// Returns the value of a scalar such as `true` or `No`, without quotes.
  std::optional<bool> AsBool() const;
  SourceLocation place() const;
  std::vector<YamlValue> items() const;  ///< of a list
  /// The entries of a map, in the order of the file, and then those of its merge keys, "<<".
  std::vector<YamlEntry> entries() const;

  /// Returns the value of a key of a map. Ignores the case of ASCII letters, like Go
  /// (pkg.go.dev/encoding/json#Unmarshal). Returns the first of several matches.
  YamlValue Find(std::string_view key) const;

 private:
  YAML::Node node_;
  std::shared_ptr<const PlaceOf> place_of_;
};

struct YamlEntry {
  YamlValue key;
  YamlValue value;
};

/// The limits for all texts of one input together, in which a value counts each time an alias
/// refers to it.
struct YamlBudget {
  std::size_t values = 200'000;
  std::size_t bytes = 16U << 20;  ///< of scalars
};

/// Parses the documents of a text. JSON is accepted too, because it is a subset of YAML. The text
/// may be any bytes. If it is not valid YAML, nested too deeply, has duplicate keys or keys that
/// are not scalars, or exceeds the budget, adds findings and returns no documents. An alias that is
/// a key can be directly followed by its colon. Does not throw.
std::vector<YamlValue> ReadYaml(const std::string& text, PlaceOf place_of, YamlBudget& budget,
                                Findings& findings);

/// Returns a value as JSON on one line, which is valid YAML too.
std::string ToJson(const YamlValue& value);

/// Returns what to do about a template of Helm, "{{ … }}", or a substitution of Flux, "${…}", in a
/// text whose value is therefore not known. Returns "" if it contains neither.
std::string HintOnTemplate(std::string_view text);

/// Returns whether a word is one of `words`.
bool IsAmong(std::string_view word, std::span<const std::string_view> words);

/// The lines of a text, without line ends. The text must outlive them.
using TextLines = std::vector<std::string_view>;
TextLines LinesOf(std::string_view text);

/// Returns a function that maps locations in the text of a scalar at `place` to locations in the
/// file, whose lines are `source`. If a location cannot be determined, as in folded text, the
/// function returns `place`. The time depends on the size of the scalar, not of the file.
PlaceOf PlacesIn(std::string_view text, const SourceLocation& place, const TextLines& source);

}  // namespace patchbay
