#include "chaos/lister.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/format.h"

namespace patchbay::test {
namespace {

constexpr std::string_view kListProgram = R"(#!/bin/sh
read -r mode < "$1/mode"
echo "$mode" >> "$1/runs"
case $mode in
succeeds) exec cat "$1/output" ;;
hangs) trap '' TERM; sleep 1000 & wait; exec sleep 1000 ;;
floods) exec yes '[' ;;
garbage) exec cat "$1/garbage" ;;
*) exec cat "$1/garbage" >&2 ;;
esac
)";

/// Outputs that are not valid lists. "fails" also prints one of them to stderr.
constexpr std::string_view kGarbage[] = {"",
                                         "{}",
                                         "[",
                                         "[{\"id\": \"e0\"",
                                         "[{\"id\": \"\\ud800\"}]",
                                         "[{\"id\": \"\xff\"}]",
                                         "\x1b[2J\r\n",
                                         "[]]"};

/// The text between the braces of an entry that must be rejected.
constexpr std::string_view kHostile[] = {
    R"("id": "bad\n", "paths": ["/dev/g4/e0"])",
    R"("id": "bad\u0000", "paths": ["/dev/g4/e0"])",
    R"("id": "\u001b[2J", "paths": ["/dev/g4/e0"])",
    R"("id": "", "paths": ["/dev/g4/e0"])",
    R"("id": 7, "paths": ["/dev/g4/e0"])",
    R"("id": "bad", "paths": ["/dev/g4/../g0/a0"])",
    R"("id": "bad", "paths": ["../../../etc/shadow"])",
    R"("id": "bad", "paths": ["/etc/shadow"])",
    R"("id": "bad", "paths": ["/dev/g4/e0\n"])",
    R"("id": "bad", "paths": ["/dev/g4/missing"])",
    R"("id": "bad", "paths": ["/dev"])",
    R"("id": "bad", "numa_node": -7, "paths": ["/dev/g4/e0"])",
    R"("id": "bad", "vars": {"path": "/etc/shadow"}, "paths": ["/dev/g4/e0"])",
    R"("id": "bad", "vars": {"LD PRELOAD": "1"}, "paths": ["/dev/g4/e0"])",
    R"("id": "bad", "vars": {"label": "a\nb"}, "paths": ["/dev/g4/e0"])",
    R"("name": "bad", "paths": ["/dev/g4/e0"])"};

/// The first three are valid components of a path, see IsPathComponent.
constexpr std::string_view kLabels[] = {"good", "A B", "x=1,y", "..",     ".",       "",
                                        "a/b",  "/",   "$(id)", "{path}", "\xc3\xbc"};

}  // namespace

Lister::Lister(TempTree& tree, std::string node, std::string id, std::size_t devices)
    : tree_(tree), node_(std::move(node)), id_(std::move(id)), devices_(devices) {
  tree_.File("etc/shadow", "root:SECRET:\n");
  tree_.File("list/program", kListProgram);
  chmod(tree_.path("list/program").c_str(), 0755);
  SetText("output", "[]");
  SetText("garbage", "");
  SetMode("succeeds");
}

std::string Lister::Command() const {
  return Format("[\"{0}/program\", \"{0}\"]", tree_.path("list"));
}

std::string Lister::Change(Random& random) {
  static constexpr const char* kModes[] = {"fails", "hangs", "floods", "garbage"};
  if (random.OneIn(2)) return Print(random);
  // In turn, so that each happens often.
  const std::string mode = kModes[++changes_ % std::size(kModes)];
  SetText("garbage", std::string(random.OneOf(kGarbage)));
  SetMode(mode);
  return "the program that lists " + mode;
}

std::string Lister::Print(Random& random) {
  labels_.clear();
  std::string entries;
  for (std::size_t i = 0; i < devices_; ++i) {
    if (random.OneIn(3)) entries += Format("{{{}}}, ", random.OneOf(kHostile));
    if (random.OneIn(3)) continue;
    const std::string id = Format("{}{}", id_, i);
    const std::string label =
        random.OneIn(8) ? std::string(300, 'x') : std::string(random.OneOf(kLabels));
    labels_[id] = label;
    entries += Format(R"({{"id": "{}", "paths": ["{}{}"], "vars": {{"label": "{}"}}}}, )", id,
                      node_, i, label);
  }
  SetText("output", Format("[{}{{}}]\n", entries));
  return Format("the program lists {} devices", labels_.size());
}

std::string Lister::End() {
  SetMode("succeeds");
  return "the program that lists succeeds";
}

void Lister::SetMode(const std::string& mode) { SetText("mode", mode + "\n"); }

void Lister::SetText(const std::string& name, const std::string& text) {
  tree_.File("list/new", text);
  std::filesystem::rename(tree_.path("list/new"), tree_.path("list/" + name));
}

std::map<std::string, std::size_t> Lister::Runs() const {
  std::map<std::string, std::size_t> runs;
  std::ifstream lines(tree_.path("list/runs"));
  for (std::string mode; std::getline(lines, mode);) ++runs[mode];
  return runs;
}

}  // namespace patchbay::test
