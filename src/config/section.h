#pragma once

#include <chrono>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "config/keys.h"
#include "config/reporter.h"
#include "config/toml_value.h"
#include "model/attribute.h"
#include "model/capacity.h"

namespace patchbay {

/// An entry of a table with arbitrary keys.
using TextPair = std::pair<Text, Text>;

/// An entry of a table of attributes.
struct AttributeText {
  Text name;
  AttributeType type = AttributeType::kString;
  Text value;
};

/// An entry of a table of capacities, with its texts by kCapacityKeys. It has "value".
struct CapacityText {
  Text name;
  std::map<std::string_view, Text> parts = {};
};

/// A table of the file, interpreted by the keys of one section (config/keys.h). The constructor
/// reports everything that the table of keys does not allow, in nested sections too: unknown,
/// missing and duplicate keys, values of another type or out of range, and keys that `needs`,
/// `excludes` or the alternatives rule out. With an unknown key, which may be any other one, it
/// reports neither missing keys nor relations. An invalid value is absent afterwards; a list or a
/// table of texts keeps its valid items. Refers to `table`, which must outlive it.
///
/// `name` must be a key of the section of a type that the function returns. Anything else is an
/// error of the program, which ends it.
class Section {
 public:
  /// `key` is that of the table, or one without a name for the top level.
  Section(const KeyInfo& key, const TomlTable& table, SourceLocation place, Reporter& reporter);

  const TomlTable& table() const { return *table_; }
  const SourceLocation& place() const { return place_; }
  /// Returns whether a key is unknown or invalid, or the table is cut. A key or variable that is
  /// missing may then be what was intended, so it is not reported.
  bool is_broken() const { return is_broken_; }
  /// Returns the selected alternative (KeyInfo::alternative_group), or "" if there is none or,
  /// after an error, more than one.
  std::string_view alternative() const { return alternative_; }

  bool Has(std::string_view name) const { return Find(name) != nullptr; }
  /// Returns the location of a value, or that of the section without it.
  const SourceLocation& PlaceOf(std::string_view name) const;
  /// Returns a line of TOML with the key, for hints.
  std::string ExampleOf(std::string_view name) const;

  /// Returns a string or template, or null.
  const Text* GetText(std::string_view name) const;
  /// Return the items of a list, or the only string instead of one; none if the key is absent.
  std::vector<Text> GetTexts(std::string_view name) const;
  /// Return the entries of a table, those of a list as several with the same key.
  std::vector<TextPair> GetPairs(std::string_view name) const;
  std::vector<AttributeText> GetAttributes(std::string_view name) const;
  std::vector<CapacityText> GetCapacities(std::string_view name) const;
  /// Returns a table, or null.
  const Section* GetSection(std::string_view name) const;
  std::span<const Section> GetSections(std::string_view name) const;

  /// Copy a value to `out`, or leave `out` as it is without the key.
  void Read(std::string_view name, std::string& out) const;
  void Read(std::string_view name, bool& out) const;
  void Read(std::string_view name, int& out) const;
  void Read(std::string_view name, std::chrono::milliseconds& out) const;
  /// The same for a word; the enumeration has the order of KeyInfo::choices.
  template <class E>
  requires std::is_enum_v<E>
  void Read(std::string_view name, E& out) const {
    if (const int choice = ChoiceOf(name); choice >= 0) out = static_cast<E>(choice);
  }

 private:
  /// A key in the file, in the order of the file.
  struct Entry {
    const KeyInfo* key;
    const TomlValue* value;
    bool is_usable;
    std::vector<Section> sections;  ///< of kTable and kTables

    /// Returns whether it counts in relations, as values that are invalid or false do not.
    bool IsOn() const;
  };

  void Add(const KeyInfo& key, const TomlValue& value, Reporter& reporter);
  bool AddSections(const TomlValue& value, Entry& entry, Reporter& reporter);
  void SelectAlternative(Reporter& reporter);
  std::string HintOnNoAlternative(std::string_view general) const;
  void CheckRelations(Reporter& reporter) const;
  const Entry* Find(std::string_view name, std::initializer_list<ValueType> types = {}) const;
  template <class T>
  const T* ValueOf(std::string_view name, std::initializer_list<ValueType> types) const;
  int ChoiceOf(std::string_view name) const;

  std::span<const KeyInfo> keys_;
  const TomlTable* table_;
  SourceLocation place_;
  std::vector<Entry> entries_;
  std::string_view alternative_;
  bool is_broken_;
};

}  // namespace patchbay
