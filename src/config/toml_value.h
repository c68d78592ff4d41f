#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/diagnostics.h"

namespace patchbay {

/// A string in the file.
struct Text {
  std::string value;
  SourceLocation place;  ///< of its first byte, including the quote
  /// Number of bytes between `place` and the value if the file contains the value byte for byte,
  /// otherwise -1.
  int inset = -1;

  /// Returns the location of the byte at `offset` of the value, or the beginning of the string if
  /// that is unknown because the file does not contain the value byte for byte.
  SourceLocation At(std::size_t offset) const {
    SourceLocation at = place;
    if (inset >= 0) at.column += inset + static_cast<int>(offset);
    return at;
  }
};

/// A TOML document in which each part has its location. Plain values.
struct TomlValue;
struct TomlEntry;

struct TomlArray {
  std::vector<TomlValue> items;
};

struct TomlTable {
  std::vector<TomlEntry> entries;  ///< in the order of the file
  bool is_cut = false;  ///< keys or tables below it may be absent, because of an error in the text
};

/// A value of a type that no key accepts: a float, a date or a time.
struct TomlOther {
  std::string_view kind;
};

struct TomlValue {
  SourceLocation place;
  std::variant<TomlOther, Text, std::int64_t, bool, TomlArray, TomlTable> value;
};

struct TomlEntry {
  Text key;
  TomlValue value;
};

}  // namespace patchbay
