#include "convert/numbered_sets.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/format.h"
#include "convert/patterns.h"
#include "convert/toml_writer.h"
#include "model/snapshot.h"

namespace patchbay {
namespace {

using Texts = std::vector<std::string>;

/// Splits a path into runs of digits and the text between them.
Texts RunsOf(const std::string& path) {
  Texts runs;
  for (const char c : path) {
    if (runs.empty() || IsDigit(runs.back().back()) != IsDigit(c)) runs.emplace_back();
    runs.back().push_back(c);
  }
  return runs;
}

/// The values of one run of the nth paths, one for each set.
using Column = Texts;

bool IsTheSame(const Column& column) {
  return std::all_of(column.begin(), column.end(),
                     [&](const std::string& text) { return text == column.front(); });
}

/// Returns the columns of the nth paths, or nothing if the paths have different numbers of runs.
std::optional<std::vector<Column>> ColumnsOf(const std::vector<Texts>& sets, std::size_t n) {
  std::vector<Column> columns(RunsOf(sets.front()[n]).size());
  for (const Texts& set : sets) {
    const Texts runs = RunsOf(set[n]);
    if (runs.size() != columns.size()) return std::nullopt;
    for (std::size_t i = 0; i < runs.size(); ++i) columns[i].push_back(runs[i]);
  }
  return columns;
}

std::size_t FirstOf(const Texts& set) {
  return static_cast<std::size_t>(std::min_element(set.begin(), set.end(), IdLess) - set.begin());
}

}  // namespace

std::optional<NumberedSets> FindNumberedSets(const std::vector<Texts>& sets) {
  NumberedSets series;
  series.first = FirstOf(sets.front());
  const bool alike = std::all_of(sets.begin(), sets.end(), [&](const Texts& set) {
    return set.size() == sets.front().size() && FirstOf(set) == series.first;
  });
  const auto shown = alike ? ColumnsOf(sets, series.first) : std::nullopt;
  if (!shown) return std::nullopt;

  std::vector<Column> variables;
  series.expressions.resize(sets.size());
  for (const Column& column : *shown) {
    const bool is_new = !IsTheSame(column) &&
                        std::find(variables.begin(), variables.end(), column) == variables.end();
    if (is_new) variables.push_back(column);
    for (std::size_t i = 0; i < sets.size(); ++i) {
      const std::string text = RegexOf(column[i]);
      series.expressions[i] += is_new ? format("(?P<n{}>{})", variables.size(), text) : text;
    }
  }
  for (std::size_t n = 0; n < sets.front().size(); ++n) {
    const auto columns = ColumnsOf(sets, n);
    if (!columns) return std::nullopt;
    std::string text;
    for (const Column& column : *columns) {
      const auto known = std::find(variables.begin(), variables.end(), column);
      if (IsTheSame(column)) {
        text += EscapedForTemplate(column.front());
      } else if (known != variables.end()) {
        text += format("{{n{}}}", known - variables.begin() + 1);
      } else {
        return std::nullopt;
      }
    }
    series.templates.push_back(std::move(text));
  }
  return series;
}

}  // namespace patchbay
