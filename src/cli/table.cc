#include "cli/table.h"

#include <algorithm>
#include <utility>

#include "base/color.h"
#include "base/escape.h"

namespace patchbay {
namespace {

/// Returns the number of columns, assuming that each code point takes one.
std::size_t Width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

/// A result in a column of this heading, and its color.
struct CellColor {
  std::string_view heading;
  std::string_view text;
  Color color;
};

constexpr CellColor kCellColors[] = {
    {"HEALTH", "Healthy", Color::kGreen}, {"HEALTH", "Unhealthy", Color::kRed},
    {"PROBE", "success", Color::kGreen},  {"PROBE", "failure", Color::kRed},
    {"PROBE", "timeout", Color::kRed},    {"PROBE", "error", Color::kRed},
    {"REGISTERED", "yes", Color::kGreen}, {"REGISTERED", "no", Color::kRed},
    {"DEVICE", "(none)", Color::kYellow}, {"DEVICES", "(none)", Color::kYellow},
};

std::string PaintCell(const std::string& heading, const std::string& text, bool colored) {
  const auto* found = std::find_if(
      std::begin(kCellColors), std::end(kCellColors),
      [&](const CellColor& cell) { return cell.heading == heading && cell.text == text; });
  return found == std::end(kCellColors) ? text : Paint(text, found->color, colored);
}

}  // namespace

std::string RenderTable(const std::vector<std::vector<std::string>>& rows, bool colored) {
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
  for (std::size_t r = 0; r < cells.size(); ++r) {
    const auto& row = cells[r];
    std::string line;
    std::size_t gap = 0;  // spaces before the next cell that is not empty
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (!row[i].empty()) {
        const std::string heading = i < cells.front().size() ? cells.front()[i] : "";
        line.append(std::exchange(gap, 0), ' ');
        line += r == 0 ? Paint(row[i], Color::kBold, colored) : PaintCell(heading, row[i], colored);
      }
      gap += widths[i] - Width(row[i]) + 2;
    }
    out += line + "\n";
  }
  return out;
}

}  // namespace patchbay
