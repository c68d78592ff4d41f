#include "chaos/release_program.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include "base/format.h"

namespace patchbay::test {
namespace {

/// A single write for each line, so that the output of concurrent programs does not mix.
constexpr std::string_view kReleaseProgram = R"(#!/bin/sh
read -r mode < "$1/mode"
echo "$mode $2 $3" >> "$1/runs"
case $mode in
succeeds) ;;
hangs) trap '' TERM; sleep 1000 & wait; exec sleep 1000 ;;
*) exit 1 ;;
esac
)";

constexpr const char* kReleaseModes[] = {"succeeds", "fails", "hangs"};

}  // namespace

ReleaseProgram::ReleaseProgram(TempTree& tree) : tree_(tree) {
  tree_.File("release/program", kReleaseProgram);
  chmod(tree_.path("release/program").c_str(), 0755);
  SetMode("succeeds");
}

std::string ReleaseProgram::Change() {
  // In turn, so that each happens often.
  const std::string mode = kReleaseModes[++changes_ % std::size(kReleaseModes)];
  SetMode(mode);
  return "the release hook " + mode;
}

std::string ReleaseProgram::Toml() const {
  return Format(
      "[resource.hooks.release]\ncommand = [\"{0}/program\", \"{0}\", \"{{resource}}\", "
      "\"{{id}}\"]\ntimeout = \"300ms\"\n",
      tree_.path("release"));
}

std::map<std::pair<std::string, std::string>, std::size_t> ReleaseProgram::Runs() const {
  std::map<std::pair<std::string, std::string>, std::size_t> runs;
  std::ifstream lines(tree_.path("release/runs"));
  for (std::string mode, resource, id; lines >> mode >> resource >> id;) ++runs[{resource, id}];
  return runs;
}

std::map<std::string, std::size_t> ReleaseProgram::Ways() const {
  std::map<std::string, std::size_t> ways;
  std::ifstream lines(tree_.path("release/runs"));
  for (std::string mode, resource, id; lines >> mode >> resource >> id;) ++ways[mode];
  return ways;
}

void ReleaseProgram::SetMode(const std::string& mode) {
  tree_.File("release/new", mode + "\n");
  std::filesystem::rename(tree_.path("release/new"), tree_.path("release/mode"));
}

}  // namespace patchbay::test
