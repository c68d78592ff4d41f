// toml++ parses the text, and Converter copies its tree into a TomlTable with the location of each
// part. Text that the parser cannot handle is rejected before (toml_precheck.h). The parser sorts
// the keys of a table; Converter restores the order of the file. The parser's messages are
// shortened, and HintOn selects a hint by words in them, so an update of toml++ may need other
// words there.

#include "config/toml_reader.h"

#include <toml++/toml.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/ascii.h"
#include "base/escape.h"
#include "base/format.h"
#include "config/foreign_notation.h"
#include "config/toml_precheck.h"

namespace patchbay {
namespace {

constexpr int kMaxDepth = 8;  // levels of tables and arrays; no key is deeper than 5

/// Converts the parser's tree into TomlValues. The parser counts columns in code points,
/// diagnostics in bytes.
class Converter {
 public:
  Converter(const std::string& file, std::string_view text) : file_(file) {
    for (std::size_t start = 0; start <= text.size();) {
      const std::size_t end = std::min(text.find('\n', start), text.size());
      AddLine(text.substr(start, end - start));
      start = end + 1;
    }
  }

  /// Returns a line, or "" if there is none with this number.
  std::string_view Line(int number) const {
    if (number < 1 || number > static_cast<int>(lines_.size())) return {};
    return lines_[static_cast<std::size_t>(number - 1)];
  }

  SourceLocation At(const toml::source_position& position) const {
    const int line = static_cast<int>(position.line), column = static_cast<int>(position.column);
    const auto found = starts_.find(line);
    if (found == starts_.end()) return {file_, line, column};
    const auto& starts = found->second;
    const auto index =
        std::min(static_cast<std::size_t>(std::max(column - 1, 0)), starts.size() - 1);
    return {file_, line, static_cast<int>(starts[index]) + 1};
  }

  TomlTable Table(const toml::table& from, int depth) const {
    TomlTable table;
    if (depth > kMaxDepth) return table;
    for (const auto& [key, node] : from) {
      table.entries.push_back(
          {MakeText(std::string(key.str()), At(key.source().begin)), Value(node, depth + 1)});
    }
    std::sort(table.entries.begin(), table.entries.end(),
              [](const TomlEntry& a, const TomlEntry& b) {
                return std::tie(a.key.place.line, a.key.place.column) <
                       std::tie(b.key.place.line, b.key.place.column);
              });
    return table;
  }

 private:
  void AddLine(std::string_view line) {
    lines_.push_back(line);
    const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
    if (std::ranges::all_of(line, is_ascii)) return;
    auto& starts = starts_[static_cast<int>(lines_.size())];
    for (std::size_t i = 0; i < line.size(); ++i) {
      if ((static_cast<unsigned char>(line[i]) & 0xC0) != 0x80) starts.push_back(i);
    }
    starts.push_back(line.size());
  }

  Text MakeText(std::string value, SourceLocation place) const {
    const std::string_view line = Line(place.line);
    const auto source = line.substr(std::min<std::size_t>(place.column - 1, line.size()));
    int inset = -1;
    if (source.starts_with(value) && !source.starts_with('"') && !source.starts_with('\'')) {
      inset = 0;  // a bare key
    } else if (source.size() >= value.size() + 2 && source.substr(1, value.size()) == value &&
               source[value.size() + 1] == source[0]) {
      inset = 1;
    }
    return {std::move(value), std::move(place), inset};
  }

  TomlValue Value(const toml::node& node, int depth) const {
    const auto* const kind =
        node.is_floating_point() ? "a number with a fraction" : "a date or time";
    TomlValue value{At(node.source().begin), TomlOther{kind}};
    if (const auto* table = node.as_table()) {
      value.value = Table(*table, depth);
    } else if (const auto* array = node.as_array()) {
      value.value = Array(*array, depth);
    } else if (const auto* string = node.as_string()) {
      value.value = MakeText(string->get(), value.place);
    } else if (const auto* integer = node.as_integer()) {
      value.value = integer->get();
    } else if (const auto* boolean = node.as_boolean()) {
      value.value = boolean->get();
    }
    return value;
  }

  TomlArray Array(const toml::array& from, int depth) const {
    TomlArray array;
    if (depth > kMaxDepth) return array;
    for (const toml::node& node : from) array.items.push_back(Value(node, depth + 1));
    return array;
  }

  std::string file_;
  std::vector<std::string_view> lines_;
  std::map<int, std::vector<std::size_t>> starts_;  ///< of characters, in lines with non-ASCII text
};

SourceLocation LocationOf(std::size_t offset, std::string_view text, const std::string& file) {
  const std::string_view before = text.substr(0, offset);
  const auto line = std::ranges::count(before, '\n');
  const auto start = before.rfind('\n') + 1;  // npos + 1 is 0
  return {file, static_cast<int>(line) + 1, static_cast<int>(offset - start) + 1};
}

constexpr std::string_view kLine =
    "a line is key = value, a table [x], an entry [[x]] of a list of tables, or a # comment";
constexpr std::string_view kBrackets =
    "write a table [x] once, and each table of a list as [[x]], as in [[resource.match]]";
constexpr std::string_view kQuotes = "strings need quotes: ";  // and an example
constexpr std::string_view kYaml =
    "the file is YAML, and Patchbay reads TOML: [[resource]] and below it name = \"…\"; `patchbay "
    "convert` converts files of other device plugins";
constexpr std::string_view kUnclosed = "is the closing quote missing?";
constexpr std::string_view kUnclosedList =
    "the list before this table is not closed: end it with ]";
constexpr std::string_view kDash =
    "write a list as key = [\"a\", \"b\"], and each table of a list below a header [[x]]";
constexpr std::string_view kTrueOrFalse =
    "write true or false, in lower case and without quotes, or a string in quotes";
constexpr std::string_view kNoNull =
    "there is no null: remove the key, or write a string in quotes";

std::string_view Trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  return first == std::string_view::npos
             ? ""
             : text.substr(first, text.find_last_not_of(" \t\r") + 1 - first);
}

/// Returns a hint on a syntax error, selected by words in the message of the parser or of
/// ProblemWithText.
std::string HintOn(std::string_view description) {
  struct Hint {
    std::string_view words, hint;
  };
  constexpr Hint kHints[] = {
      {"exceeded maximum nested", "too deeply nested"},
      {"not part of UTF-8", "save the file as UTF-8"},
      {"too many parts", "use fewer parts"},
      {"non-ASCII", "put strings between two \" or two '"},
      {"string: unescaped control", kUnclosed},
      {"string: control", kUnclosed},
      {"string: encountered end-of-file", kUnclosed},
      {"unknown escape sequence",
       "use single quotes, in which a backslash is an ordinary character"},
      {"cannot redefine existing table", kBrackets},
      {"cannot redefine existing array", kBrackets},
      {"cannot redefine existing", "a key can be set only once: keep one of the two lines"},
      {"table header", kBrackets},
      {"expected a comment or whitespace, saw ']'", kBrackets},
      {"expected a comment or whitespace",
       "a line has one value; write a list as [\"a\", \"b\"] and a comment after #"},
      {"array: encountered end-of-file", "end the list with ]"},
      {"closing ']'", "separate the values of a list with commas and end it with ]"},
      {"inline table", "write { … } on one line, with commas between the keys"},
      {"expected value", "write a value after =: key = \"value\""},
      {"expected '='", "write key = value; a name such as \"example.com/a\" needs quotes"},
      {"parsing floating-point", kQuotes},
      {"parsing boolean", kQuotes},
      {"integer: ", kQuotes},
      {"date", kQuotes},
      {"time", kQuotes},
      {"parsing value", kQuotes},
  };
  const auto* found = std::ranges::find_if(
      kHints, [&](const Hint& h) { return description.find(h.words) != description.npos; });
  return std::string(found == std::end(kHints) ? kLine : found->hint);
}

/// Returns the hint on a sign or a word without quotes at or around an offset of a line, or "".
std::string_view HintOnWord(std::string_view line, std::size_t at) {
  const std::string_view rest = Trim(line.substr(at, line.find('#', at) - at));
  if (rest == ";" || rest == ",") return "nothing follows a value: remove the semicolon or comma";
  if (rest == "|") return "write a text of several lines between two \"\"\"";
  if (rest == "~") return kNoNull;
  while (at > 0 && IsLetter(line[at - 1])) --at;
  const std::string_view text = line.substr(at);
  const auto end = std::ranges::find_if_not(text, IsLetter);
  const std::string word = ToLower(text.substr(0, static_cast<std::size_t>(end - text.begin())));
  constexpr std::string_view kBooleans[] = {"yes", "no", "on", "off", "true", "false"};
  constexpr std::string_view kNulls[] = {"nil", "none", "null"};
  if (std::ranges::count(kBooleans, word) > 0) return kTrueOrFalse;
  return std::ranges::count(kNulls, word) > 0 ? kNoNull : "";
}

/// Returns a line with the value in quotes, or an example if quotes are not all that it lacks.
std::string WithQuotes(std::string_view line) {
  const auto equals = line.find('=');
  const std::string_view key = Trim(line.substr(0, equals));
  const std::string_view value = equals == std::string_view::npos
                                     ? ""
                                     : Trim(line.substr(equals + 1, line.find('#') - equals - 1));
  const bool is_plain = !key.empty() && !value.empty() && line.size() <= 100 &&
                        IsPrintable(value) &&
                        value.find_first_of("\"'\\[]{},= ") == std::string_view::npos;
  return is_plain ? Format("{} = \"{}\"", key, value)
                  : "key = \"value\", and tables of a list braces: key = [{ key = \"value\" }]";
}

/// Returns the parser's message without the prefix and suffix that all of its messages have.
std::string WordsOf(std::string_view description) {
  const auto colon = description.find(": ");
  const std::string_view text =
      colon == std::string_view::npos ? description : description.substr(colon + 2);
  return std::string(text.substr(0, text.find(" (TOML_")));
}

struct SyntaxProblem {
  SourceLocation place;
  std::string message;
  std::string hint;
};

tl::expected<TomlTable, SyntaxProblem> Parse(const std::string& name, std::string_view text) {
  if (const auto problem = ProblemWithText(text)) {
    return tl::unexpected(SyntaxProblem{LocationOf(problem->offset, text, name), problem->message,
                                        HintOn(problem->message)});
  }
  const Converter converter(name, text);
  try {
    return converter.Table(toml::parse(text, std::string_view(name)), 0);
  } catch (const toml::parse_error& error) {
    SyntaxProblem problem{converter.At(error.source().begin), WordsOf(error.description()), ""};
    const std::string_view line = converter.Line(problem.place.line);
    const auto at = std::min(static_cast<std::size_t>(problem.place.column - 1), line.size());
    problem.hint = LooksLikeYaml(text)            ? kYaml
                   : Trim(line).starts_with("- ") ? kDash
                                                  : HintOnWord(line, at);
    if (problem.hint.empty()) problem.hint = HintOn(error.description());
    if (problem.hint == kQuotes) problem.hint += WithQuotes(line);
    if (problem.message.starts_with("expected 'nan'")) problem.message = "expected a value";
    if (problem.message.find("leading zero") != std::string::npos) {
      problem.hint += "; a number has no leading zeros";
    }
    return tl::unexpected(std::move(problem));
  }
}

/// Returns the last line in which a part of the value begins.
int LastLine(const TomlValue& value) {
  int line = value.place.line;
  if (const auto* list = std::get_if<TomlArray>(&value.value)) {
    for (const TomlValue& item : list->items) line = std::max(line, LastLine(item));
  }
  if (const auto* table = std::get_if<TomlTable>(&value.value)) {
    for (const TomlEntry& entry : table->entries) line = std::max(line, LastLine(entry.value));
  }
  return line;
}

/// Marks the tables in which a text ends: keys and tables below them may be in what follows.
void MarkCut(TomlTable& table) {
  table.is_cut = true;
  if (table.entries.empty()) return;
  const auto by_line = [](const TomlEntry& entry) { return LastLine(entry.value); };
  TomlValue* last = &std::ranges::max_element(table.entries, {}, by_line)->value;
  auto* list = std::get_if<TomlArray>(&last->value);
  if (list != nullptr && !list->items.empty()) last = &list->items.back();
  if (auto* below = std::get_if<TomlTable>(&last->value)) MarkCut(*below);
}

}  // namespace

TomlTable ReadToml(const SourceFile& source, Reporter& reporter) {
  auto parsed = Parse(source.name, source.text);
  if (parsed) return std::move(*parsed);
  SyntaxProblem& problem = parsed.error();
  const std::string_view text = source.text;
  std::size_t start_of_problem = 0;  // its line
  for (int line = 1; line < problem.place.line; ++line) {
    start_of_problem = text.find('\n', start_of_problem) + 1;
  }
  TomlTable table{.entries = {}, .is_cut = true};
  // A line that begins with a bracket or has an equals sign is a header or a key, unless it is part
  // of a value; long values and lists of lists are rare. A list that is not closed is an error only
  // at the next header, so the text before that header has an error too.
  int headers = 8, keys = 8;
  for (std::size_t start = start_of_problem; headers > 0;) {
    const std::string_view line = Trim(text.substr(start, text.find('\n', start) - start));
    const bool is_header = line.starts_with('[');
    if (is_header || (keys > 0 && line.find('=') != std::string_view::npos)) {
      --(is_header ? headers : keys);
      if (auto before = Parse(source.name, text.substr(0, start))) {
        table = std::move(*before);
        MarkCut(table);
        break;
      }
      if (is_header && start == start_of_problem) problem.hint = kUnclosedList;
    }
    if (start == 0) break;
    start = text.substr(0, start - 1).rfind('\n') + 1;  // npos + 1 is 0
  }
  reporter.Report(Code::kSyntax, problem.place, problem.message, problem.hint);
  return table;
}

}  // namespace patchbay
