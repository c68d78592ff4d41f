#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/diagnostics.h"

namespace patchbay {

/// A string of the file.
struct Text {
  std::string value;
  SourceLocation place;  ///< where it begins, its quote included
  int inset = -1;        ///< bytes from there to the value where both agree byte by byte, else -1

  /// The place of the byte at `offset` of the value; the beginning where that cannot be told, as
  /// behind an escape sequence.
  SourceLocation At(std::size_t offset) const {
    SourceLocation at = place;
    if (inset >= 0) at.column += inset + static_cast<int>(offset);
    return at;
  }
};

/// A spanned TOML document: what the parser read and where each part stands. Plain values.
struct TomlValue;
struct TomlEntry;

struct TomlArray {
  std::vector<TomlValue> items;
};

struct TomlTable {
  std::vector<TomlEntry> entries;  ///< in the order of the file
};

/// A kind of value that no key takes: a float, a date, a time.
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
