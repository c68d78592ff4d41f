// ValueBuilder turns the events of yaml-cpp into values. It does not use the node tree of yaml-cpp,
// so that limits on nesting, number of values and text hold while the input is parsed. An alias is
// a copy of its value and counts with its full size and depth, so that nested aliases cannot grow
// exponentially.
//
// An anchor becomes known when its value is complete; an alias inside its own value is therefore
// unknown and an error. FinishKeys runs on the finished values.
//
// yaml-cpp reads the colon of "*name: value" as a part of the name; other parsers do not. A text
// that is not valid is therefore parsed again with a space before such colons.
//
// PlacesIn searches for each line of a scalar only in the line of the file where it must be, so its
// time does not depend on the size of the file.

#include "convert/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "base/ascii.h"
#include "base/escape.h"
#include "base/format.h"
#include "base/result.h"

namespace patchbay {
namespace {

constexpr std::size_t kMaxNesting = 64;  // levels of lists and maps
constexpr std::size_t kMaxDocuments = 1'000;
constexpr std::size_t kMaxFlag = 64;  // bytes of a flag and a quote in front of a text

/// Builds values from the events of the parser. Throws YAML::ParserException to stop the parser,
/// which has no other way to do so.
class ValueBuilder : public YAML::EventHandler {
 public:
  ValueBuilder(const PlaceOf& place_of, YamlBudget& budget)
      : place_of_(place_of), budget_(budget) {}

  std::vector<YamlValue> TakeDocuments() { return std::move(documents_); }
  std::size_t documents() const { return documents_.size(); }

  void OnDocumentStart(const YAML::Mark&) override { anchors_.clear(); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Put(mark, anchor, Made(YamlValue::Kind::kNull, mark));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto known = anchors_.find(anchor);
    if (known == anchors_.end()) Stop(mark, "an alias refers to a value that contains it");
    const Anchored& anchored = known->second;
    if (open_.size() + anchored.depth > kMaxNesting) StopNesting(mark);
    Account(mark, anchored.values, anchored.bytes);
    Put(mark, 0, anchored.value, anchored.depth);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (!IsUtf8(value)) Stop(mark, "the text is not valid UTF-8");
    YamlValue made = Made(YamlValue::Kind::kScalar, mark);
    made.text = value;
    made.is_quoted = tag != "?";
    Account(mark, 0, value.size());
    Put(mark, anchor, std::move(made));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(YamlValue::Kind::kList, mark, anchor);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(YamlValue::Kind::kMap, mark, anchor);
  }
  void OnMapEnd() override { Close(); }

 private:
  /// An unfinished list or map, and the budget before it.
  struct Opened {
    YamlValue value;
    YAML::anchor_t anchor;
    YAML::Mark mark;
    YamlBudget before;
    std::vector<YamlValue> key = {};  ///< the key without a value yet, if any
    std::size_t depth = 1;            ///< levels of lists and maps, with those of aliases
  };
  struct Anchored {
    YamlValue value;
    std::size_t values = 1;
    std::size_t bytes = 0;
    std::size_t depth = 0;
  };

  [[noreturn]] static void Stop(const YAML::Mark& mark, const std::string& why) {
    throw YAML::ParserException(mark, why);
  }
  [[noreturn]] static void StopNesting(const YAML::Mark& mark) {
    Stop(mark, "lists and maps are nested too deeply");
  }

  YamlValue Made(YamlValue::Kind kind, const YAML::Mark& mark) {
    Account(mark, 1, 0);
    YamlValue made;
    made.kind = kind;
    made.place = place_of_(mark.line + 1, mark.column + 1);
    return made;
  }

  void Account(const YAML::Mark& mark, std::size_t values, std::size_t bytes) {
    if (values > budget_.values || bytes > budget_.bytes) {
      Stop(mark, "too many values, or too much text");
    }
    budget_.values -= values;
    budget_.bytes -= bytes;
  }

  void Open(YamlValue::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (open_.size() >= kMaxNesting) StopNesting(mark);
    open_.push_back({{}, anchor, mark, budget_});
    open_.back().value = Made(kind, mark);
  }

  void Close() {
    Opened done = std::move(open_.back());
    open_.pop_back();
    if (done.anchor != 0) {
      const std::size_t values = done.before.values - budget_.values;
      const std::size_t bytes = done.before.bytes - budget_.bytes;
      anchors_[done.anchor] = {done.value, values, bytes, done.depth};
      Account(done.mark, values, bytes);
    }
    Put(done.mark, 0, std::move(done.value), done.depth);
  }

  void Put(const YAML::Mark& mark, YAML::anchor_t anchor, YamlValue value, std::size_t depth = 0) {
    if (anchor != 0) {
      const std::size_t bytes = value.text.size();
      Account(mark, 1, bytes);
      anchors_[anchor] = {value, 1, bytes};
    }
    if (!open_.empty()) open_.back().depth = std::max(open_.back().depth, depth + 1);
    if (open_.empty()) {
      documents_.push_back(std::move(value));
    } else if (open_.back().value.IsList()) {
      open_.back().value.items.push_back(std::move(value));
    } else if (open_.back().key.empty()) {
      open_.back().key.push_back(std::move(value));
    } else {
      open_.back().value.entries.push_back({std::move(open_.back().key.front()), std::move(value)});
      open_.back().key.clear();
    }
  }

  const PlaceOf& place_of_;
  std::vector<YamlValue> documents_;
  std::vector<Opened> open_;
  std::map<YAML::anchor_t, Anchored> anchors_;
  YamlBudget& budget_;
};

/// Adds the entries of a merge key, "<<", that the map does not have.
void Merge(const YamlValue& from, YamlValue& map, std::set<std::string>& seen) {
  for (const YamlValue& item : from.items) Merge(item, map, seen);
  for (const YamlEntry& entry : from.entries) {
    if (seen.insert(entry.key.text).second) map.entries.push_back(entry);
  }
}

/// Reports keys that are not scalars and duplicates, and replaces merge keys.
void FinishKeys(YamlValue& value, Findings& findings) {
  for (YamlValue& item : value.items) FinishKeys(item, findings);
  std::set<std::string> seen;
  std::vector<YamlValue> merged;
  for (YamlEntry& entry : value.entries) {
    FinishKeys(entry.value, findings);
    if (!entry.key.IsScalar()) {
      // A template without quotes is a map of a map.
      const bool is_template = entry.key.IsMap() && entry.key.entries.size() == 1;
      findings.Malformed(entry.key.place, "a key must be a string",
                         is_template ? HintOnTemplate("{{") : "");
    } else if (entry.key.text == "<<" && !entry.key.is_quoted) {
      merged.push_back(std::move(entry.value));
    } else if (!seen.insert(entry.key.text).second) {
      findings.Malformed(entry.key.place,
                         Format("duplicate key \"{}\"", Truncate(entry.key.text, 60)));
    }
  }
  if (merged.empty()) return;
  std::erase_if(value.entries, [](const YamlEntry& entry) {
    return entry.key.text == "<<" && !entry.key.is_quoted;
  });
  for (const YamlValue& from : merged) Merge(from, value, seen);
}

/// A Mark counts from 0. It contains -1 if the location is unknown.
SourceLocation PlaceOfMark(const YAML::Mark& mark, const PlaceOf& place_of) {
  return place_of(std::max(mark.line, 0) + 1, std::max(mark.column, 0) + 1);
}

std::string_view LineAt(std::string_view text, int line) {
  for (; line > 0 && !text.empty(); --line) {
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  return text.substr(0, text.find('\n'));
}

std::string HintOnBrokenYaml(std::string_view text, const YAML::Mark& mark) {
  // A substitution without quotes ends the map or list in braces or brackets that contains it.
  const std::string_view line_at_mark = LineAt(text, mark.line);
  if (line_at_mark.find("${") != std::string_view::npos) return HintOnTemplate("${");
  if (text.find("{{") != std::string_view::npos) {
    return "render the chart first, with `helm template`";
  }
  // The mark is on the line of the tab or on the next one, depending on the text before the tab.
  for (const int line : {mark.line, mark.line - 1}) {
    const std::string_view indentation = LineAt(text, line);
    if (indentation.substr(0, indentation.find_first_not_of(" \t")).find('\t') !=
        std::string_view::npos) {
      return "YAML does not allow tabs for indentation; use spaces";
    }
  }
  return "check for a missing bracket or quote, or wrong indentation";
}

/// Parses the documents of a text. Fails with what is wrong.
tl::expected<std::vector<YamlValue>, Diagnostic> Parse(const std::string& text,
                                                       const PlaceOf& place_of,
                                                       YamlBudget& budget) {
  const auto fail = [](SourceLocation place, std::string message, std::string hint = "") {
    return tl::unexpected(
        Diagnostic{Severity::kError, "", std::move(place), std::move(message), std::move(hint)});
  };
  std::istringstream stream(text);
  ValueBuilder builder(place_of, budget);
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
      if (builder.documents() > kMaxDocuments)
        return fail(place_of(1, 1), "too many YAML documents");
    }
  } catch (const YAML::Exception& error) {
    return fail(PlaceOfMark(error.mark, place_of), "invalid YAML: " + error.msg,
                HintOnBrokenYaml(text, error.mark));
  } catch (const std::exception& error) {
    return fail(place_of(1, 1), Format("cannot parse YAML: {}", error.what()));
  }
  return builder.TakeDocuments();
}

/// A text with a space before the colon of each alias that is a key at the beginning of a line.
struct Separated {
  std::string text = {};
  std::map<int, int> columns = {};  ///< line → column of the space
};

Separated SeparateColons(const std::string& text) {
  Separated separated;
  int number = 0;
  for (const std::string_view line : LinesOf(text)) {
    ++number;
    const auto star = line.find_first_not_of(" -");
    auto colon = star;
    if (star != std::string_view::npos && line[star] == '*') {
      colon = line.find_first_of(": \t,[]{}", star);
    }
    const bool is_key = colon != star && colon != std::string_view::npos && line[colon] == ':' &&
                        (colon + 1 == line.size() || line[colon + 1] == ' ');
    if (is_key) separated.columns[number] = static_cast<int>(colon) + 1;
    separated.text += Format("{}{}\n", line.substr(0, is_key ? colon : line.size()),
                             is_key ? " " + std::string(line.substr(colon)) : "");
  }
  return separated;
}

bool SameWithoutCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return ToLower(x) == ToLower(y); });
}

}  // namespace

const YamlValue* YamlValue::Find(std::string_view key) const {
  for (const YamlEntry& entry : entries) {
    if (entry.key.IsScalar() && SameWithoutCase(entry.key.text, key)) return &entry.value;
  }
  return nullptr;
}

std::vector<YamlValue> ReadYaml(const std::string& text, const PlaceOf& given_place_of,
                                YamlBudget& budget, Findings& findings) {
  // The parser can report an error one line after the end of the text.
  const auto lines = static_cast<int>(std::count(text.begin(), text.end(), '\n')) + 1;
  const PlaceOf place_of = [&](int line, int column) {
    return given_place_of(std::min(line, lines), column);
  };
  // The parser would interpret some bytes as UTF-16, and treat a zero byte as the end of the text.
  if (!IsUtf8(text) || text.find('\0') != std::string::npos) {
    findings.Malformed(place_of(1, 1), "the text is not valid UTF-8",
                       "pass the YAML file or manifest itself");
    return {};
  }
  const YamlBudget before = budget;
  auto parsed = Parse(text, place_of, budget);
  if (!parsed) {
    const Separated separated = SeparateColons(text);
    const PlaceOf place_in_text = [&](int line, int column) {
      const auto added = separated.columns.find(line);
      return place_of(
          line, added == separated.columns.end() || column <= added->second ? column : column - 1);
    };
    if (!separated.columns.empty()) {
      budget = before;
      parsed = Parse(separated.text, place_in_text, budget);
    }
  }
  if (!parsed) {
    findings.Malformed(parsed.error().place, parsed.error().message, parsed.error().hint);
    return {};
  }
  for (YamlValue& document : *parsed) FinishKeys(document, findings);
  return std::move(*parsed);
}

std::string HintOnTemplate(std::string_view text) {
  if (text.find("{{") != std::string_view::npos) return "replace the template with its value";
  if (text.find("${") != std::string_view::npos) return "replace the substitution with its value";
  return "";
}

bool IsAmong(std::string_view word, std::span<const std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

TextLines LinesOf(std::string_view text) {
  TextLines lines;
  while (true) {
    const auto end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (lines.back().ends_with('\r')) lines.back().remove_suffix(1);
    if (end == std::string_view::npos) return lines;
    text.remove_prefix(end + 1);
  }
}

PlaceOf PlacesIn(const YamlValue& scalar, const TextLines& source) {
  /// The start of a line of the text: a line of the file and the bytes before the start in it.
  struct Beginning {
    int line;
    int bytes_before;
  };
  std::vector<std::optional<Beginning>> beginnings;
  const SourceLocation& place = scalar.place;
  const auto line_of_scalar = static_cast<std::size_t>(std::max(place.line, 1) - 1);
  for (const std::string_view inner : LinesOf(scalar.text)) {
    const std::size_t index = beginnings.size();
    beginnings.emplace_back();
    if (place.line < 1 || inner.empty()) continue;
    // A block scalar starts on the next line, any other after a quote or a flag on the same line.
    const std::size_t in_block = line_of_scalar + 1 + index;
    if (in_block < source.size() && source[in_block].ends_with(inner)) {
      beginnings.back() = {static_cast<int>(in_block) + 1,
                           static_cast<int>(source[in_block].size() - inner.size())};
    } else if (index == 0 && line_of_scalar < source.size()) {
      const std::string_view line = source[line_of_scalar];
      const auto from =
          std::min(static_cast<std::size_t>(std::max(place.column - 1, 0)), line.size());
      const auto at = line.substr(from, kMaxFlag + inner.size()).find(inner);
      if (at != std::string_view::npos) {
        beginnings.back() = {place.line, static_cast<int>(from + at)};
      }
    }
  }
  return [place, beginnings = std::move(beginnings)](int line, int column) {
    const auto index = static_cast<std::size_t>(line - 1);
    if (line < 1 || index >= beginnings.size() || !beginnings[index]) return place;
    return SourceLocation{place.file, beginnings[index]->line,
                          beginnings[index]->bytes_before + column};
  };
}

}  // namespace patchbay
