// Input: the output of a discovery command.
#include <nlohmann/json.hpp>

#include "base/escape.h"
#include "base/path.h"
#include "discovery/command_output.h"
#include "fuzz.h"

using namespace patchbay;

namespace {

void RequireText(std::string_view text) {
  fuzz::Require(text.size() <= 4096 && Printable(text) == text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::Text(data, size);
  const auto list = ParseCommandOutput(text);
  if (!list) {
    fuzz::RequireMessage(list.error().message, 1024);
    return 0;
  }
  const auto json = nlohmann::json::parse(text, nullptr, false);
  fuzz::Require(json.is_array());
  fuzz::Require(json.size() == list->entries.size() + list->problems.size());
  for (const CommandProblem& problem : list->problems) {
    fuzz::Require(problem.entry >= 1 && problem.entry <= json.size());
    RequireText(problem.id);
    fuzz::RequireMessage(problem.message, 1024);
  }
  for (const CommandEntry& entry : list->entries) {
    fuzz::Require(!entry.id.empty());
    RequireText(entry.id);
    fuzz::Require(entry.paths.size() <= 64 && entry.vars.size() <= 64);
    for (const std::string& path : entry.paths) {
      RequireText(path);
      fuzz::Require(IsShortestPath(path));
    }
    fuzz::Require(!entry.numa_node || (*entry.numa_node >= 0 && *entry.numa_node < 64));
    for (const auto& [name, value] : entry.vars) {
      fuzz::Require(!name.empty() && name.size() <= 64);
      RequireText(value);
    }
  }
  return 0;
}
