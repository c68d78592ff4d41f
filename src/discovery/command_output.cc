// The parser of nlohmann-json reports events, of which Reader keeps only what an entry can contain,
// so that nested input costs no memory. The first problem of an entry rejects that entry; a problem
// of the array ends the parsing. CheckBytes runs first, because the parser would treat some bytes
// as the end of the input.

#include "discovery/command_output.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/diagnostics.h"
#include "base/escape.h"
#include "base/format.h"
#include "base/path.h"
#include "model/device.h"
#include "model/spec.h"
#include "model/variables.h"

namespace patchbay {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxEntries = 10'000;
constexpr std::size_t kMaxPaths = 64;
constexpr std::size_t kMaxVariables = 64;
constexpr std::size_t kMaxNameBytes = 64;
constexpr std::size_t kMaxTextBytes = 4096;
constexpr int kMaxJsonDepth = 16;

constexpr std::string_view kExample = R"({"id": "…", "paths": ["/dev/…"]})";

/// The keys of an entry.
enum Field : std::size_t { kId, kPaths, kNumaNode, kVars };
constexpr std::array<std::string_view, 4> kFieldNames = {"id", "paths", "numa_node", "vars"};

enum class Kind { kNull, kBoolean, kInteger, kFraction, kText, kArray, kObject };

std::string_view Name(Kind kind) {
  switch (kind) {
    case Kind::kNull: return "null";
    case Kind::kBoolean: return "a boolean";
    case Kind::kInteger:
    case Kind::kFraction: return "a number";
    case Kind::kText: return "a string";
    case Kind::kArray: return "an array";
    case Kind::kObject: return "an object";
  }
  return "";
}

std::string Clipped(std::string_view text) { return Truncate(text, 60); }

std::string Quoted(std::string_view text) { return "\"" + Clipped(text) + "\""; }

bool IsVariableName(std::string_view name) {
  const auto is_letter = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
  };
  return !name.empty() && is_letter(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

/// Returns the problem of any text, as the end of a sentence; empty if there is none.
std::string ProblemWithText(std::string_view text) {
  if (text.size() > kMaxTextBytes) {
    return Format("is longer than {} bytes; print less", kMaxTextBytes);
  }
  if (!IsPrintable(text)) return "contains a control character; remove it";
  return "";
}

std::string ProblemWithPath(std::string_view path) {
  if (std::string problem = ProblemWithText(path); !problem.empty()) return problem;
  if (!path.starts_with('/')) return "is not absolute; print an absolute path, as in /dev/ttyS0";
  if (!IsShortestPath(path)) return R"(has "//", "." or ".." in it, or ends with "/"; remove it)";
  return "";
}

/// Receives the events of the parser. Keeps only what an entry can contain.
class Reader : public nlohmann::json_sax<Json> {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool null() override { return Scalar(Kind::kNull, ""); }
  bool boolean(bool value) override { return Scalar(Kind::kBoolean, value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override {
    return Scalar(Kind::kInteger, std::to_string(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return Scalar(Kind::kInteger, std::to_string(value));
  }
  bool number_float(number_float_t, const string_t& text) override {
    return Scalar(Kind::kFraction, text);
  }
  bool string(string_t& text) override { return Scalar(Kind::kText, text); }
  bool binary(binary_t&) override { return false; }  // not in JSON
  bool start_object(std::size_t) override { return Open(Kind::kObject); }
  bool start_array(std::size_t) override { return Open(Kind::kArray); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(string_t& name) override;
  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::detail::exception& error) override;

  CommandList& list() { return list_; }
  const std::string& error() const { return error_; }

 private:
  bool Scalar(Kind kind, const std::string& text);
  bool Open(Kind kind);
  bool Close();
  bool Value(Kind kind, const std::string& text);
  bool BeginEntry(Kind kind);
  void EndEntry();
  void FieldName(const std::string& name);
  void FieldValue(Kind kind, const std::string& text);
  void Id(Kind kind, const std::string& text);
  void NumaNode(Kind kind, const std::string& text);
  void Path(Kind kind, const std::string& text);
  void VariableName(const std::string& name);
  void VariableValue(Kind kind, const std::string& text);

  /// Rejects the current entry. Only the first problem is reported.
  void Problem(const std::string& text) { problem_ = Format("entry {} {}", number_, text); }
  bool Fatal(std::string text) {
    error_ = std::move(text);
    return false;
  }

  std::string_view text_;
  const std::vector<Variable> taken_ = SuppliedBy(MatchSpec());
  CommandList list_;
  std::string error_;
  int depth_ = 0;           ///< the number of open arrays and objects
  std::size_t number_ = 0;  ///< of the entry
  CommandEntry entry_;
  std::string problem_;  ///< if not empty, the rest of the entry is skipped
  std::array<bool, kFieldNames.size()> seen_ = {};
  Field field_ = kId;
};

bool Reader::Scalar(Kind kind, const std::string& text) {
  if (!Value(kind, text)) return false;
  if (depth_ == 1) EndEntry();
  return true;
}

bool Reader::Open(Kind kind) {
  if (!Value(kind, "")) return false;
  if (++depth_ <= kMaxJsonDepth) return true;
  return Fatal(Format("entry {} of the output is nested deeper than {} levels; print {}", number_,
                      kMaxJsonDepth, kExample));
}

bool Reader::Close() {
  if (--depth_ == 1) EndEntry();
  return true;
}

bool Reader::Value(Kind kind, const std::string& text) {
  if (depth_ == 0) {
    return kind == Kind::kArray ||
           Fatal(Format("the output is {}, not an array; print [{}]", Name(kind), kExample));
  }
  if (depth_ == 1) return BeginEntry(kind);
  if (!problem_.empty()) return true;
  if (depth_ == 2) {
    FieldValue(kind, text);
  } else if (field_ == kPaths) {
    Path(kind, text);
  } else {
    VariableValue(kind, text);
  }
  return true;
}

bool Reader::BeginEntry(Kind kind) {
  if (++number_ > kMaxEntries) {
    return Fatal(Format("the output has more than {} entries; print fewer", kMaxEntries));
  }
  entry_ = {};
  seen_ = {};
  problem_.clear();
  if (kind != Kind::kObject)
    Problem(Format("is {}, not an object; print {}", Name(kind), kExample));
  return true;
}

void Reader::EndEntry() {
  if (problem_.empty() && !seen_[kId]) Problem(Format(R"(has no "id"; print {})", kExample));
  if (problem_.empty()) {
    list_.entries.push_back(std::move(entry_));
  } else {
    list_.problems.push_back({number_, std::move(entry_.id), std::move(problem_)});
  }
}

bool Reader::key(string_t& name) {
  if (!problem_.empty()) return true;
  if (depth_ == 2) {
    FieldName(name);
  } else {
    VariableName(name);
  }
  return true;
}

void Reader::FieldName(const std::string& name) {
  const auto at = std::find(kFieldNames.begin(), kFieldNames.end(), name);
  if (at == kFieldNames.end()) {
    const std::string_view near = Nearest(name, kFieldNames);
    return Problem(Format("has the unknown key {}; {}", Quoted(name),
                          near.empty() ? R"(put additional values in "vars")"
                                       : Format("did you mean \"{}\"?", near)));
  }
  field_ = static_cast<Field>(at - kFieldNames.begin());
  if (seen_[field_]) return Problem(Format("has \"{}\" twice; print it once", name));
  seen_[field_] = true;
}

void Reader::FieldValue(Kind kind, const std::string& text) {
  switch (field_) {
    case kId: return Id(kind, text);
    case kNumaNode: return NumaNode(kind, text);
    case kPaths:
      if (kind != Kind::kArray) {
        Problem(Format(R"(has "paths" that are {}; print an array, as in ["/dev/…"])", Name(kind)));
      }
      return;
    case kVars:
      if (kind != Kind::kObject) {
        Problem(Format(R"(has "vars" that are {}; print an object, as in {{"name": "…"}})",
                       Name(kind)));
      }
      return;
  }
}

void Reader::Id(Kind kind, const std::string& text) {
  if (kind != Kind::kText) {
    return Problem(Format(R"(has an "id" that is {}; print a string)", Name(kind)));
  }
  if (text.empty()) {
    return Problem(R"(has an "id" that is empty; print a name that is unique to this device)");
  }
  if (const std::string problem = ProblemWithText(text); !problem.empty()) {
    return Problem(Format(R"(has an "id" that {})", problem));
  }
  entry_.id = text;
}

void Reader::NumaNode(Kind kind, const std::string& text) {
  constexpr int kNone = -1;  // the value of the kernel
  if (kind == Kind::kNull) return;
  int node = kNone - 1;
  if (kind == Kind::kInteger) std::from_chars(text.data(), text.data() + text.size(), node);
  if (node == kNone) return;
  if (node < 0 || node > kLastNumaNode) {
    const bool is_number = kind == Kind::kInteger || kind == Kind::kFraction;
    return Problem(Format(R"(has a "numa_node" that is {}; print a number from 0 to {}, or null)",
                          is_number ? Clipped(text) : Name(kind), kLastNumaNode));
  }
  entry_.numa_node = node;
}

void Reader::Path(Kind kind, const std::string& text) {
  if (kind != Kind::kText) {
    return Problem(Format(R"(has {} among its "paths"; print strings)", Name(kind)));
  }
  if (const std::string problem = ProblemWithPath(text); !problem.empty()) {
    return Problem(Format("has the path {}, which {}", Quoted(text), problem));
  }
  if (std::find(entry_.paths.begin(), entry_.paths.end(), text) != entry_.paths.end()) {
    return Problem(Format("has the path {} twice; print it once", Quoted(text)));
  }
  if (entry_.paths.size() == kMaxPaths) {
    return Problem(Format("has more than {} paths; print several entries", kMaxPaths));
  }
  entry_.paths.push_back(text);
}

void Reader::VariableName(const std::string& name) {
  const auto is_same = [&](const auto& variable) { return variable.first == name; };
  if (!IsVariableName(name) || name.size() > kMaxNameBytes) {
    return Problem(
        Format("has a variable {}; a name is at most {} letters, digits and \"_\", and "
               "does not begin with a digit",
               Quoted(name), kMaxNameBytes));
  }
  if (std::any_of(taken_.begin(), taken_.end(), [&](const auto& v) { return v.name == name; })) {
    return Problem(Format("has a variable {}, which is a built-in variable; print another name",
                          Quoted(name)));
  }
  if (std::any_of(entry_.vars.begin(), entry_.vars.end(), is_same)) {
    return Problem(Format("has the variable {} twice; print it once", Quoted(name)));
  }
  if (entry_.vars.size() == kMaxVariables) {
    return Problem(Format("has more than {} variables; print fewer", kMaxVariables));
  }
  entry_.vars.emplace_back(name, "");
}

void Reader::VariableValue(Kind kind, const std::string& text) {
  auto& [name, value] = entry_.vars.back();
  if (kind == Kind::kNull || kind == Kind::kArray || kind == Kind::kObject) {
    return Problem(Format("has a variable {} that is {}; print a string, a number, true or false",
                          Quoted(name), Name(kind)));
  }
  if (const std::string problem = ProblemWithText(text); !problem.empty()) {
    return Problem(Format("has a variable {} that {}", Quoted(name), problem));
  }
  value = text;
}

bool Reader::parse_error(std::size_t position, const std::string&,
                         const nlohmann::detail::exception& error) {
  constexpr int kNumberOverflow = 406;
  constexpr std::size_t kShownBefore = 30;
  const std::string_view before = text_.substr(0, position - 1);
  const std::size_t line_start = before.rfind('\n') + 1;
  const std::size_t column = before.size() - line_start;
  const std::string where =
      Format("line {}, column {}", std::count(before.begin(), before.end(), '\n') + 1, column + 1);
  if (position > text_.size()) {
    return Fatal(Format(
        "the output ends at {}, before the JSON does; print one complete array and check that "
        "the command does not fail",
        where));
  }
  std::string_view line = text_.substr(line_start);
  line = line.substr(0, line.find('\n'));
  const std::string quoted = Quoted(line.substr(column - std::min(column, kShownBefore)));
  if (error.id == kNumberOverflow) {
    return Fatal(Format("the number at {} of the output, {}, is too large; print it as a string",
                        where, quoted));
  }
  return Fatal(
      Format("{} of the output, {}, is not JSON; print one array, as in [{}], and "
             "everything else to stderr",
             where, quoted, kExample));
}

/// Checks what the parser would treat as the end of the input, or does not distinguish.
Status CheckBytes(std::string_view text) {
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t length = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view current = text.substr(0, length);
    if (current.find('\0') != std::string_view::npos) {
      return Fail(ErrorKind::kInvalid,
                  Format("line {} of the output contains a NUL byte; print text only", line));
    }
    if (!IsUtf8(current)) {
      return Fail(ErrorKind::kInvalid,
                  Format("line {} of the output is not UTF-8; encode other bytes in hexadecimal, "
                         "or omit them",
                         line));
    }
    text.remove_prefix(length);
  }
  return {};
}

}  // namespace

Result<CommandList> ParseCommandOutput(std::string_view text) {
  if (text.size() > kMaxCommandOutput) {
    return Fail(ErrorKind::kInvalid,
                Format("the output has more than {} bytes; print less", kMaxCommandOutput));
  }
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return Fail(ErrorKind::kInvalid,
                "the command printed nothing; print [] when there is no device");
  }
  TRY(CheckBytes(text));
  Reader reader(text);
  if (!Json::sax_parse(text, &reader)) return Fail(ErrorKind::kInvalid, reader.error());
  return std::move(reader.list());
}

}  // namespace patchbay
