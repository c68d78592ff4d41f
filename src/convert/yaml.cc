// yaml-cpp parses a text twice. The first time, DocumentCheck stops it where a text has more
// documents than it should: yaml-cpp 0.7 does not reject what cannot belong to a document, but
// begins another one, even without end. The second time, it builds its nodes.
//
// TreeCheck then visits each value as often as aliases refer to it. This ends, also for an alias in
// its own value, because depth and number of values are limited; everything that walks through a
// document later relies on these limits.
//
// yaml-cpp reads the colon of "*name: value" as a part of the name; other parsers do not. A text
// that is not valid is therefore parsed again with a space before such colons. Locations in these
// lines are then one column too far.
//
// PlacesIn searches for each line of a scalar only in the line of the file where it must be, so its
// time does not depend on the size of the file.

#include "convert/yaml.h"

#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <exception>
#include <set>
#include <sstream>
#include <utility>

#include "base/ascii.h"
#include "base/escape.h"
#include "base/format.h"
#include "base/result.h"

namespace patchbay {
namespace {

constexpr int kMaxNesting = 64;  // levels of lists and maps; yaml-cpp itself stops at 500
constexpr int kMaxDocuments = 1'000;
constexpr std::size_t kMaxFlag = 64;  // bytes of a flag and a quote in front of a text

std::string_view LineAt(const TextLines& lines, int line) {
  const auto index = static_cast<std::size_t>(line);
  return line >= 0 && index < lines.size() ? lines[index] : std::string_view();
}

/// Follows the events of the parser. Throws YAML::ParserException to stop it, which has no other
/// way to do so.
class DocumentCheck : public YAML::EventHandler {
 public:
  explicit DocumentCheck(const TextLines& lines) : lines_(lines) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_ > 0 && !LineAt(lines_, mark.line).starts_with("---")) {
      throw YAML::ParserException(mark, "this does not belong to the list or map before it");
    }
    if (++documents_ > kMaxDocuments) throw YAML::ParserException(mark, "too many documents");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  const TextLines& lines_;
  int documents_ = 0;
};

using Nodes = std::vector<YAML::Node>;

/// Parses the documents of a text. Fails with the location and the message of the error.
tl::expected<Nodes, YAML::Exception> Parse(const std::string& text) {
  try {
    const TextLines lines = LinesOf(text);
    DocumentCheck check(lines);
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(check)) continue;
    return YAML::LoadAll(text);
  } catch (const YAML::Exception& error) {
    return tl::unexpected(error);
  } catch (const std::exception& error) {
    return tl::unexpected(YAML::Exception(YAML::Mark::null_mark(), error.what()));
  }
}

bool IsMergeKey(const YAML::Node& key) { return key.Scalar() == "<<" && key.Tag() == "?"; }

/// Checks the values of a document, with those that aliases refer to.
class TreeCheck {
 public:
  TreeCheck(std::shared_ptr<const PlaceOf> place_of, YamlBudget& budget, Findings& findings)
      : place_of_(std::move(place_of)), budget_(budget), findings_(findings) {}

  bool failed() const { return failed_; }

  /// Returns false if a limit is exceeded, after which the document must not be used.
  bool Check(const YAML::Node& node, int depth = 0) {
    const std::string& text = node.Scalar();
    if (budget_.values == 0 || budget_.bytes < text.size()) {
      return Fail(node, "too many values, or too much text");
    }
    budget_.values -= 1;
    budget_.bytes -= text.size();
    if (!IsUtf8(text)) return Fail(node, "the text is not valid UTF-8");
    if (node.size() > 0 && depth == kMaxNesting)
      return Fail(node, "lists and maps are nested too deeply");
    if (node.IsMap()) CheckKeys(node);
    for (const auto& part : node) {
      const bool continues = node.IsMap()
                                 ? Check(part.first, depth + 1) && Check(part.second, depth + 1)
                                 : Check(part, depth + 1);
      if (!continues) return false;
    }
    return true;
  }

 private:
  bool Fail(const YAML::Node& node, std::string message, std::string hint = "") {
    findings_.Malformed(YamlValue(node, place_of_).place(), std::move(message), std::move(hint));
    failed_ = true;
    return false;
  }

  void CheckKeys(const YAML::Node& map) {
    std::set<std::string> keys;
    for (const auto& entry : map) {
      const YAML::Node& key = entry.first;
      if (!key.IsScalar()) {
        // A template without quotes is a map of a map.
        const bool is_template = key.IsMap() && key.size() == 1;
        Fail(key, "a key must be a string", is_template ? HintOnTemplate("{{") : "");
      } else if (!keys.insert(key.Scalar()).second && !IsMergeKey(key)) {
        Fail(key, Format("duplicate key \"{}\"", Truncate(key.Scalar(), 60)));
      }
    }
  }

  std::shared_ptr<const PlaceOf> place_of_;
  YamlBudget& budget_;
  Findings& findings_;
  bool failed_ = false;
};

std::string HintOnBrokenYaml(const std::string& text, int line_of_error) {
  const TextLines lines = LinesOf(text);
  // A substitution without quotes ends the map or list in braces or brackets that contains it.
  if (LineAt(lines, line_of_error).find("${") != std::string_view::npos) {
    return HintOnTemplate("${");
  }
  if (text.find("{{") != std::string::npos) return "render the chart first, with `helm template`";
  // The error is on the line of the tab or on the next one, depending on the text before the tab.
  for (const int line : {line_of_error, line_of_error - 1}) {
    const std::string_view indentation = LineAt(lines, line);
    if (indentation.substr(0, indentation.find_first_not_of(" \t")).find('\t') !=
        std::string_view::npos) {
      return "YAML does not allow tabs for indentation; use spaces";
    }
  }
  return "check for a missing bracket or quote, or wrong indentation";
}

/// Adds a space before the colon of each alias that is a key at the beginning of a line.
std::string SeparateColons(const std::string& text) {
  std::string separated;
  for (const std::string_view line : LinesOf(text)) {
    const auto star = std::min(line.find_first_not_of(" -"), line.size());
    const auto colon = std::min(line.find_first_of(": \t,[]{}", star), line.size());
    const std::string_view rest = line.substr(colon);
    const bool is_key =
        line.substr(star).starts_with('*') && (rest == ":" || rest.starts_with(": "));
    separated.append(line.substr(0, colon)).append(is_key ? " " : "").append(rest).append("\n");
  }
  return separated;
}

bool SameWithoutCase(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return ToLower(x) == ToLower(y); });
}

/// Returns whether a scalar is the same value in JSON without quotes.
bool IsJsonLiteral(const YamlValue& scalar) {
  static constexpr std::string_view kWords[] = {"true", "false"};
  if (scalar.is_quoted()) return false;
  std::string_view digits = scalar.text();
  if (IsAmong(digits, kWords)) return true;
  if (digits.starts_with('-')) digits.remove_prefix(1);
  return !digits.empty() && digits.size() < 16 && (digits == "0" || digits[0] != '0') &&
         std::ranges::all_of(digits, IsDigit);
}

void AppendJson(const YamlValue& value, std::string& json) {
  if (value.IsNull()) {
    json += "null";
    return;
  }
  if (value.IsScalar()) {
    json += IsJsonLiteral(value) ? value.text() : QuoteJson(value.text());
    return;
  }
  json += value.IsMap() ? "{" : "[";
  std::string_view separator;
  for (const YamlValue& item : value.items()) {
    json += std::exchange(separator, ", ");
    AppendJson(item, json);
  }
  for (const YamlEntry& entry : value.entries()) {
    json += std::exchange(separator, ", ");
    json += QuoteJson(entry.key.text()) + ": ";
    AppendJson(entry.value, json);
  }
  json += value.IsMap() ? "}" : "]";
}

}  // namespace

std::optional<bool> YamlValue::AsBool() const {
  bool value = false;
  if (is_quoted() || !YAML::convert<bool>::decode(node_, value)) return std::nullopt;
  return value;
}

SourceLocation YamlValue::place() const {
  if (!*this) return {};
  // A mark counts from 0. It contains -1 if the location is unknown.
  const YAML::Mark mark = node_.Mark();
  return (*place_of_)(std::max(mark.line, 0) + 1, std::max(mark.column, 0) + 1);
}

std::vector<YamlValue> YamlValue::items() const {
  std::vector<YamlValue> items;
  if (!IsList()) return items;
  for (const auto& item : node_) items.emplace_back(item, place_of_);
  return items;
}

std::vector<YamlEntry> YamlValue::entries() const {
  std::vector<YamlEntry> entries;
  if (!IsMap()) return entries;
  std::vector<YamlValue> merged;
  for (const auto& entry : node_) {
    const YamlValue value(entry.second, place_of_);
    if (IsMergeKey(entry.first)) {
      merged.push_back(value);
    } else {
      entries.push_back({{entry.first, place_of_}, value});
    }
  }
  if (merged.empty()) return entries;
  std::set<std::string> keys;
  for (const YamlEntry& entry : entries) keys.insert(entry.key.text());
  for (std::size_t i = 0; i < merged.size(); ++i) {
    for (const YamlValue& map : merged[i].items()) merged.push_back(map);
    for (YamlEntry& entry : merged[i].entries()) {
      if (keys.insert(entry.key.text()).second) entries.push_back(std::move(entry));
    }
  }
  return entries;
}

YamlValue YamlValue::Find(std::string_view key) const {
  for (const YamlEntry& entry : entries()) {
    if (SameWithoutCase(entry.key.text(), key)) return entry.value;
  }
  return {};
}

std::vector<YamlValue> ReadYaml(const std::string& text, PlaceOf place_of, YamlBudget& budget,
                                Findings& findings) {
  // The parser would interpret some bytes as UTF-16, and treat a zero byte as the end of the text.
  if (!IsUtf8(text) || text.find('\0') != std::string::npos) {
    findings.Malformed(place_of(1, 1), "the text is not valid UTF-8",
                       "pass the YAML file or manifest itself");
    return {};
  }
  auto nodes = Parse(text);
  if (!nodes) nodes = Parse(SeparateColons(text));
  // The parser can report an error one line after the end of the text.
  const auto lines = static_cast<int>(std::ranges::count(text, '\n')) + 1;
  const auto places = std::make_shared<const PlaceOf>(
      [place_of = std::move(place_of), lines](int line, int column) {
        return place_of(std::min(line, lines), column);
      });
  if (!nodes) {
    const YAML::Mark& mark = nodes.error().mark;
    findings.Malformed((*places)(std::max(mark.line, 0) + 1, std::max(mark.column, 0) + 1),
                       "invalid YAML: " + nodes.error().msg, HintOnBrokenYaml(text, mark.line));
    return {};
  }
  std::vector<YamlValue> documents;
  TreeCheck check(places, budget, findings);
  for (const YAML::Node& node : *nodes) {
    if (!check.Check(node)) break;
    documents.emplace_back(node, places);
  }
  if (check.failed()) documents.clear();
  return documents;
}

std::string ToJson(const YamlValue& value) {
  std::string json;
  AppendJson(value, json);
  return json;
}

std::string HintOnTemplate(std::string_view text) {
  if (text.find("{{") != std::string_view::npos) return "replace the template with its value";
  if (text.find("${") != std::string_view::npos) return "replace the substitution with its value";
  return "";
}

bool IsAmong(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
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

PlaceOf PlacesIn(std::string_view text, const SourceLocation& place, const TextLines& source) {
  // For each line of the text, its line in the file and the bytes before it there.
  std::vector<std::optional<std::pair<int, int>>> beginnings;
  for (const std::string_view inner : LinesOf(text)) {
    const auto index = static_cast<int>(beginnings.size());
    beginnings.emplace_back();
    if (place.line < 1 || inner.empty()) continue;
    // A block scalar starts on the next line, any other after a quote or a flag on the same line.
    const std::string_view in_block = LineAt(source, place.line + index);
    if (in_block.ends_with(inner)) {
      beginnings.back() = {place.line + index + 1,
                           static_cast<int>(in_block.size() - inner.size())};
    } else if (index == 0) {
      const std::string_view line = LineAt(source, place.line - 1);
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
    const auto [line_in_file, before] = *beginnings[index];
    return SourceLocation{place.file, line_in_file, before + column};
  };
}

}  // namespace patchbay
