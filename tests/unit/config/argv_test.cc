#include "config/argv.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

/// Returns "argument program" of the variable that could become code, or "".
std::string Finding(const std::vector<std::string_view>& argv) {
  std::vector<Template> compiled;
  for (const std::string_view argument : argv) compiled.push_back(*Template::Compile(argument));
  std::vector<TemplateShape> shapes;
  for (const Template& argument : compiled) shapes.push_back(ShapeOf(argument));
  const auto found = FindVariableInCode(shapes);
  if (!found) return "";
  return std::to_string(found->argument) + " " + std::string(found->runner) +
         (found->takes_none ? " takes none" : "");
}

TEST(FindVariableInCode, RejectsVariablesInTheProgramName) {
  EXPECT_EQ(Finding({"{x}"}), "0 ");
  EXPECT_EQ(Finding({"/opt/{x}", "a"}), "0 ");
}

TEST(FindVariableInCode, RejectsVariablesInTheCodeOfInterpreters) {
  const std::pair<std::vector<std::string_view>, std::string_view> cases[] = {
      {{"sh", "-c", "x {x}"}, "2 sh"},
      {{"/bin/bash", "-ec", "{x}"}, "2 bash"},
      {{"bash", "-euo", "pipefail", "-c", "{x}"}, "4 bash"},
      {{"bash", "+e", "-c", "{x}"}, "3 bash"},
      {{"sh", "-c", "-e", "{x}"}, "3 sh"},
      {{"sh", "-c", "--", "{x}"}, "3 sh"},
      {{"sh", "{x}"}, "1 sh"},
      {{"sh", "-{x}", "a"}, "1 sh"},
      {{"ksh93", "-c", "{x}"}, "2 ksh"},
      {{"fish", "--command={x}"}, "1 fish"},
      {{"fish", "-N", "a", "--command", "{x}"}, "4 fish"},
      {{"busybox", "sh", "-c", "{x}"}, "3 sh"},
      {{"env", "A=1", "sh", "-c", "{x}"}, "4 sh"},
      {{"nsenter", "--target", "1", "--mount", "sh", "-c", "{x}"}, "6 sh"},
      {{"chroot", "/host", "/bin/sh", "-c", "{x}"}, "4 sh"},
      {{"timeout", "5", "nice", "-n", "5", "stdbuf", "-oL", "sh", "-ec", "{x}"}, "9 sh"},
      {{"timeout", "5", "sh", "{x}"}, "3 sh"},
      {{"timeout", "5", "/usr/bin/node", "{x}"}, "3 node"},
      {{"flock", "/run/lock", "-c", "{x}"}, "3 flock"},
      {{"runuser", "-l", "operator", "-c", "{x}"}, "4 runuser"},
      {{"runuser", "-u", "operator", "--", "sh", "-c", "{x}"}, "6 runuser"},
      {{"script", "-qc", "{x}", "/dev/null"}, "2 script"},
      {{"find", "/etc", "-name", "a", "-ok", "sh", "-c", "{x}", ";"}, "7 sh"},
      {{"python3.11", "-c", "{x}"}, "2 python"},
      {{"python3", "-I", "-c{x}"}, "2 python"},
      {{"python3", "-m", "{x}"}, "2 python"},
      {{"perl", "-lane", "{x}"}, "2 perl"},
      {{"perl", "-I", "/lib", "-we", "1", "-e", "{x}"}, "6 perl"},
      {{"perl", "-M{x}", "a.pl"}, "1 perl"},
      {{"node", "-pe", "{x}"}, "2 node"},
      {{"node", "--eval={x}"}, "1 node"},
      {{"lua5.4", "-e", "{x}"}, "2 lua"},
      {{"php", "-r", "{x}"}, "2 php"},
      {{"awk", "-F:", "-v", "a=1", "/{x}/", "/f"}, "4 awk"},
      {{"awk", "-v", "{x}=1", "1", "/f"}, "2 awk"},
      {{"gawk", "-f", "{x}"}, "2 gawk"},
      {{"sed", "-n", "s/a/{x}/p"}, "2 sed"},
      {{"jq", "-r", ".{x}", "/f"}, "2 jq"},
      {{"/opt/with-lock", "--", "python3", "-c", "{x}"}, "4 python"},
      {{"python3", "/opt/probe.py", "--port={x}"}, "2 python"},
  };
  for (const auto& [argv, finding] : cases) {
    std::string line;
    for (const auto argument : argv) line.append(argument).append(" ");
    EXPECT_EQ(Finding(argv), finding) << line;
  }
}

TEST(FindVariableInCode, RejectsAllVariablesOfProgramsThatPassThemToAShell) {
  EXPECT_EQ(Finding({"ssh", "host", "probe", "{x}"}), "3 ssh takes none");
  EXPECT_EQ(Finding({"nice", "/usr/bin/ssh", "{x}"}), "2 ssh takes none");
  EXPECT_EQ(Finding({"su", "-c", "probe \"$1\"", "root", "{x}"}), "4 su takes none");
  EXPECT_EQ(Finding({"watch", "-n", "1", "probe", "{x}"}), "4 watch takes none");
  EXPECT_EQ(Finding({"sh", "-c", "ssh \"$@\"", "ssh", "{x}"}), "4 ssh takes none");
  EXPECT_EQ(Finding({"env", "-S", "sh -c {x}"}), "2 env takes none");
  EXPECT_EQ(Finding({"env", "--split-string={x}"}), "1 env takes none");
}

TEST(FindVariableInCode, AcceptsVariablesThatAreData) {
  const std::vector<std::string_view> cases[] = {
      {},
      {"/usr/local/bin/card-ok", "{x}"},
      {"/usr/local/bin/card-ok", "-c", "a {x}"},
      {"/usr/local/bin/card-{{x}}", "{x}"},
      {"sh", "-c", "probe \"$1\"", "sh", "{x}"},
      {"sh", "-c", "probe \"$0\"", "{x}"},
      {"bash", "-euo", "pipefail", "-c", "probe \"$@\"", "--", "{x}", "-p", "{x}"},
      {"sh", "/etc/probe.sh", "{x}"},
      {"env", "A={x}", "/opt/probe", "{x}"},
      {"env", "A={x}", "sh", "-c", "probe \"$A\""},
      {"nsenter", "-t", "1", "-m", "/opt/probe", "{x}"},
      {"timeout", "{x}", "/opt/probe"},
      {"flock", "/run/lock", "/opt/probe", "{x}"},
      {"runuser", "-u", "operator", "/opt/probe", "{x}"},
      {"busybox", "sh", "-c", "true", "{x}"},
      {"python3", "-c", "import sys", "{x}"},
      {"python3", "-u", "/opt/probe.py", "--port", "{x}"},
      {"perl", "-Mfeature", "/opt/a.pl", "{x}"},
      {"php", "-r", "1;", "{x}"},
      {"awk", "-v", "a={x}", "1", "/f"},
      {"awk", "1", "{x}"},
      {"sed", "-n", "p", "{x}"},
      {"jq", "--arg", "port", "{x}", ".[$port]", "/f"},
      {"/opt/list", "node", "{x}"},
      {"find", "/sys/{x}", "-name", "{x}", "-exec", "/opt/probe", "{x}", ";"},
  };
  for (const auto& argv : cases) {
    std::string line;
    for (const auto argument : argv) line.append(argument).append(" ");
    EXPECT_EQ(Finding(argv), "") << line;
  }
}

}  // namespace
}  // namespace patchbay
