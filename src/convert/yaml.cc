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

namespace patchbay {
namespace {

constexpr std::size_t kDeepestNesting = 64;  // lists and maps in each other
constexpr std::size_t kMaxValues = 100'000;  // with all aliases followed
constexpr std::size_t kMaxBytes = 8U << 20;  // of their texts
constexpr std::size_t kMaxDocuments = 1'000;
constexpr std::size_t kMaxFlag = 64;  // and a quote, in front of a text

/// Builds values of what the parser reads. The parser is told to stop by an exception of its own
/// kind; it has no other way.
class ValueBuilder : public YAML::EventHandler {
 public:
  explicit ValueBuilder(const PlaceOf& place_of) : place_of_(place_of) {}

  std::vector<YamlValue> TakeDocuments() { return std::move(documents_); }
  std::size_t documents() const { return documents_.size(); }

  void OnDocumentStart(const YAML::Mark&) override { anchors_.clear(); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Put(mark, anchor, Made(YamlValue::Kind::kNull, mark));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto known = anchors_.find(anchor);
    if (known == anchors_.end()) Stop(mark, "an alias stands within what it stands for");
    Account(mark, known->second.values, known->second.bytes);
    Put(mark, 0, known->second.value);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (!IsUtf8(value)) Stop(mark, "this is not text in UTF-8");
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
  /// A list or map that is not at its end yet, and what there was before it.
  struct Opened {
    YamlValue value;
    YAML::anchor_t anchor;
    YAML::Mark mark;
    std::size_t values_before;
    std::size_t bytes_before;
    std::vector<YamlValue> key = {};  ///< one that waits for its value
  };
  struct Anchored {
    YamlValue value;
    std::size_t values = 1;
    std::size_t bytes = 0;
  };

  [[noreturn]] static void Stop(const YAML::Mark& mark, const std::string& why) {
    throw YAML::ParserException(mark, why);
  }

  YamlValue Made(YamlValue::Kind kind, const YAML::Mark& mark) {
    Account(mark, 1, 0);
    YamlValue made;
    made.kind = kind;
    made.place = place_of_(mark.line + 1, mark.column + 1);
    return made;
  }

  void Account(const YAML::Mark& mark, std::size_t values, std::size_t bytes) {
    values_ += values;
    bytes_ += bytes;
    if (values_ > kMaxValues || bytes_ > kMaxBytes) {
      Stop(mark, "there is more here than any configuration has");
    }
  }

  void Open(YamlValue::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (open_.size() >= kDeepestNesting) Stop(mark, "lists and maps are nested too deeply");
    open_.push_back({{}, anchor, mark, values_, bytes_});
    open_.back().value = Made(kind, mark);
  }

  void Close() {
    Opened done = std::move(open_.back());
    open_.pop_back();
    if (done.anchor != 0) {
      anchors_[done.anchor] = {done.value, values_ - done.values_before,
                               bytes_ - done.bytes_before};
      Account(done.mark, values_ - done.values_before, bytes_ - done.bytes_before);
    }
    Put(done.mark, 0, std::move(done.value));
  }

  void Put(const YAML::Mark& mark, YAML::anchor_t anchor, YamlValue value) {
    if (anchor != 0) {
      const std::size_t bytes = value.text.size();
      Account(mark, 1, bytes);
      anchors_[anchor] = {value, 1, bytes};
    }
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
  std::size_t values_ = 0;
  std::size_t bytes_ = 0;
};

/// What no map may have. Merge keys would have to be followed for the outcome to be right.
void CheckKeys(const YamlValue& value, Findings& findings) {
  std::set<std::string_view> seen;
  for (const YamlEntry& entry : value.entries) {
    if (!entry.key.IsScalar()) {
      findings.Malformed(entry.key.place, "a key must be a text");
    } else if (entry.key.text == "<<" && !entry.key.is_quoted) {
      findings.CannotSay(entry.key.place, "merge keys are not understood here",
                         "write out what is merged");
    } else if (!seen.insert(entry.key.text).second) {
      findings.Malformed(entry.key.place,
                         format("the key \"{}\" is here twice", Truncate(entry.key.text, 60)));
    }
    CheckKeys(entry.value, findings);
  }
  for (const YamlValue& item : value.items) CheckKeys(item, findings);
}

/// `Mark` counts from 0, and from -1 where it knows nothing.
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
  if (text.find("{{") != std::string_view::npos) {
    return "a chart has to be rendered first, with `helm template`";
  }
  // The parser comes to a tab, or past it, depending on what is in front.
  for (const int line : {mark.line, mark.line - 1}) {
    const std::string_view indentation = LineAt(text, line);
    if (indentation.substr(0, indentation.find_first_not_of(" \t")).find('\t') !=
        std::string_view::npos) {
      return "YAML takes no tabs; indent with spaces";
    }
  }
  return "look for a bracket or a quote that is not closed, or for other indentation";
}

bool SameWithoutCase(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

const YamlValue* YamlValue::Find(std::string_view key) const {
  for (const YamlEntry& entry : entries) {
    if (entry.key.IsScalar() && SameWithoutCase(entry.key.text, key)) return &entry.value;
  }
  return nullptr;
}

std::vector<YamlValue> ReadYaml(const std::string& text, const PlaceOf& place_of,
                                Findings& findings) {
  // The parser would take bytes for UTF-16, or stop at a zero byte as if all had been read.
  if (!IsUtf8(text) || text.find('\0') != std::string::npos) {
    findings.Malformed(place_of(1, 1), "this is not text in UTF-8",
                       "give the YAML file or manifest itself");
    return {};
  }
  std::istringstream stream(text);
  ValueBuilder builder(place_of);
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
      if (builder.documents() > kMaxDocuments) {
        findings.Malformed(place_of(1, 1), "there are more documents than any manifest has");
        return {};
      }
    }
  } catch (const YAML::Exception& error) {
    findings.Malformed(PlaceOfMark(error.mark, place_of), "this is not YAML: " + error.msg,
                       HintOnBrokenYaml(text, error.mark));
    return {};
  } catch (const std::exception& error) {
    findings.Malformed(place_of(1, 1), format("this cannot be read as YAML: {}", error.what()));
    return {};
  }
  auto documents = builder.TakeDocuments();
  for (const YamlValue& document : documents) CheckKeys(document, findings);
  return documents;
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
  /// Where a line of the text begins: behind so many bytes of a line of the file.
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
    // Of a block the text begins on the next line, else behind a quote or a flag.
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
