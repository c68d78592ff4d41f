#include "cli/table.h"

#include <algorithm>

#include "base/escape.h"

namespace patchbay {
namespace {

/// Returns the number of columns, assuming that each code point takes one.
std::size_t Width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

}  // namespace

std::string RenderTable(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::vector<std::string>> cells;
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    auto& shown = cells.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) {
      shown.push_back(Printable(row[i]));
      widths[i] = std::max(widths[i], Width(shown[i]));
    }
  }
  std::string out;
  for (const auto& row : cells) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      line.append(widths[i] - Width(row[i]) + 2, ' ');
    }
    line.resize(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace patchbay
