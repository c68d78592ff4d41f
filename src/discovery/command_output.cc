// The output is parsed into a tree, and each entry is read on its own: its first problem rejects it
// and no other. Limits of the parser bound the memory.

#include "discovery/command_output.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/ascii.h"
#include "base/diagnostics.h"
#include "base/escape.h"
#include "base/format.h"
#include "base/json.h"
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
constexpr std::string_view kFieldNames[] = {"id",   "paths",   "numa_node",
                                            "vars", "healthy", "reason"};

std::string Clipped(std::string_view text) { return Truncate(text, 60); }

std::string Quoted(std::string_view text) { return "\"" + Clipped(text) + "\""; }

bool IsVariableName(std::string_view name) {
  return !name.empty() && !IsDigit(name.front()) &&
         std::all_of(name.begin(), name.end(), [](char c) { return IsAlnum(c) || c == '_'; });
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

std::string_view Name(const Json& json) {
  switch (json.type()) {
    case Json::value_t::null: return "null";
    case Json::value_t::boolean: return "a boolean";
    case Json::value_t::string: return "a string";
    case Json::value_t::array: return "an array";
    case Json::value_t::object: return "an object";
    default: return "a number";
  }
}

/// The functions below read a part of an entry. They return its problem, as the end of a sentence
/// about the entry; empty if there is none.

std::string ReadId(const Json& json, CommandEntry& entry) {
  const auto* id = json.get_ptr<const std::string*>();
  if (id == nullptr) return Format(R"(has an "id" that is {}; print a string)", Name(json));
  if (id->empty()) {
    return R"(has an "id" that is empty; print a name that is unique to this device)";
  }
  if (const std::string problem = ProblemWithText(*id); !problem.empty()) {
    return Format(R"(has an "id" that {})", problem);
  }
  entry.id = *id;
  return "";
}

std::string ReadPaths(const Json& json, CommandEntry& entry) {
  if (!json.is_array()) {
    return Format(R"(has "paths" that are {}; print an array, as in ["/dev/…"])", Name(json));
  }
  if (json.size() > kMaxPaths) {
    return Format("has more than {} paths; print several entries", kMaxPaths);
  }
  for (const Json& element : json) {
    const auto* path = element.get_ptr<const std::string*>();
    if (path == nullptr) {
      return Format(R"(has {} among its "paths"; print strings)", Name(element));
    }
    if (const std::string problem = ProblemWithPath(*path); !problem.empty()) {
      return Format("has the path {}, which {}", Quoted(*path), problem);
    }
    if (std::ranges::find(entry.paths, *path) != entry.paths.end()) {
      return Format("has the path {} twice; print it once", Quoted(*path));
    }
    entry.paths.push_back(*path);
  }
  return "";
}

std::string ReadNumaNode(const Json& json, CommandEntry& entry) {
  constexpr int kNone = -1;  // the value of the kernel
  if (json.is_null() || json == kNone) return "";
  if (!json.is_number_unsigned() || json > kLastNumaNode) {
    return Format(R"(has a "numa_node" that is {}; print a number from 0 to {}, or null)",
                  json.is_number() ? Clipped(json.dump()) : Name(json), kLastNumaNode);
  }
  entry.numa_node = json.get<int>();
  return "";
}

std::string ReadVariable(const std::string& name, const Json& json, CommandEntry& entry) {
  if (!IsVariableName(name) || name.size() > kMaxNameBytes) {
    return Format(
        "has a variable {}; a name is at most {} letters, digits and \"_\", and does not begin "
        "with a digit",
        Quoted(name), kMaxNameBytes);
  }
  static const std::vector<Variable> kBuiltIn = SuppliedBy(MatchSpec());
  if (std::ranges::find(kBuiltIn, name, &Variable::name) != kBuiltIn.end()) {
    return Format("has a variable {}, which is a built-in variable; print another name",
                  Quoted(name));
  }
  if (json.is_null() || json.is_structured()) {
    return Format("has a variable {} that is {}; print a string, a number, true or false",
                  Quoted(name), Name(json));
  }
  std::string value = json.is_string() ? json.get<std::string>() : json.dump();
  if (const std::string problem = ProblemWithText(value); !problem.empty()) {
    return Format("has a variable {} that {}", Quoted(name), problem);
  }
  entry.vars.emplace_back(name, std::move(value));
  return "";
}

std::string ReadVariables(const Json& json, CommandEntry& entry) {
  if (!json.is_object()) {
    return Format(R"(has "vars" that are {}; print an object, as in {{"name": "…"}})", Name(json));
  }
  if (json.size() > kMaxVariables) {
    return Format("has more than {} variables; print fewer", kMaxVariables);
  }
  for (const auto& [name, value] : json.items()) {
    if (std::string problem = ReadVariable(name, value, entry); !problem.empty()) return problem;
  }
  return "";
}

std::string ReadHealthy(const Json& json, CommandEntry& entry) {
  if (!json.is_boolean()) {
    return Format(R"(has a "healthy" that is {}; print true or false)", Name(json));
  }
  if (!json.get<bool>()) entry.unhealthy = "its command reports it as unhealthy";
  return "";
}

std::string ReadReason(const Json& json, CommandEntry& entry) {
  const auto* reason = json.get_ptr<const std::string*>();
  if (reason == nullptr && !json.is_null()) {
    return Format(R"(has a "reason" that is {}; print a string)", Name(json));
  }
  if (reason == nullptr || reason->empty() || entry.unhealthy.empty()) return "";
  if (const std::string problem = ProblemWithText(*reason); !problem.empty()) {
    return Format(R"(has a "reason" that {})", problem);
  }
  entry.unhealthy = *reason;
  return "";
}

/// In the order of kFieldNames.
constexpr std::string (*kFieldReaders[])(const Json& json, CommandEntry& entry) = {
    &ReadId, &ReadPaths, &ReadNumaNode, &ReadVariables, &ReadHealthy, &ReadReason};

std::string ReadEntry(const Json& json, CommandEntry& entry) {
  if (!json.is_object()) return Format("is {}, not an object; print {}", Name(json), kExample);
  if (!json.contains("id")) return Format(R"(has no "id"; print {})", kExample);
  for (std::size_t i = 0; i < std::size(kFieldNames); ++i) {
    const auto member = json.find(kFieldNames[i]);
    if (member == json.end()) continue;
    if (std::string problem = kFieldReaders[i](*member, entry); !problem.empty()) return problem;
  }
  for (const auto& [key, value] : json.items()) {
    if (std::ranges::find(kFieldNames, key) != std::end(kFieldNames)) continue;
    const std::string_view near = Nearest(key, kFieldNames);
    return Format(
        "has the unknown key {}; {}", Quoted(key),
        near.empty() ? R"(put additional values in "vars")" : Format("did you mean \"{}\"?", near));
  }
  return "";
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
  const auto json = ParseJson(text, {.bytes = kMaxCommandOutput, .depth = kMaxJsonDepth});
  if (!json) {
    return Fail(ErrorKind::kInvalid,
                Format("the output {}; print one array, as in [{}], and everything else to stderr",
                       json.error().message, kExample));
  }
  if (!json->is_array()) {
    return Fail(ErrorKind::kInvalid,
                Format("the output is {}, not an array; print [{}]", Name(*json), kExample));
  }
  if (json->size() > kMaxEntries) {
    return Fail(ErrorKind::kInvalid,
                Format("the output has more than {} entries; print fewer", kMaxEntries));
  }
  CommandList list;
  for (std::size_t i = 0; i < json->size(); ++i) {
    CommandEntry entry;
    std::string problem = ReadEntry((*json)[i], entry);
    if (problem.empty()) {
      list.entries.push_back(std::move(entry));
    } else {
      list.problems.push_back({i + 1, std::move(entry.id), Format("entry {} {}", i + 1, problem)});
    }
  }
  return list;
}

}  // namespace patchbay
