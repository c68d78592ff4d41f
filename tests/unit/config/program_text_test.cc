#include "config/program_text.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

/// Returns "argument interpreter" of the variable that would determine which code runs, or "".
std::string Finding(const std::vector<std::string_view>& argv) {
  std::vector<Template> compiled;
  for (const std::string_view argument : argv) compiled.push_back(*Template::Compile(argument));
  std::vector<TemplateShape> shapes;
  for (const Template& argument : compiled) shapes.push_back(ShapeOf(argument));
  const auto found = FindVariableInProgram(shapes);
  if (!found) return "";
  return std::to_string(found->argument) + " " + std::string(found->interpreter);
}

TEST(VariableInProgram, RejectsVariablesInTheProgramName) {
  EXPECT_EQ(Finding({"{x}"}), "0 ");
  EXPECT_EQ(Finding({"/opt/{x}", "a"}), "0 ");
  EXPECT_EQ(Finding({"env", "{x}"}), "1 ");
  EXPECT_EQ(Finding({"/usr/bin/env", "-i", "-u", "A", "B={x}", "{x}"}), "5 ");
  EXPECT_EQ(Finding({"env", "{x}=1", "prog"}), "1 ");
  EXPECT_EQ(Finding({"nice", "-n", "5", "{x}"}), "3 ");
  EXPECT_EQ(Finding({"timeout", "-k", "5", "10", "{x}"}), "4 ");
  EXPECT_EQ(Finding({"timeout", "10", "nice", "{x}"}), "3 ");
  EXPECT_EQ(Finding({"chroot", "/host", "{x}"}), "2 ");
  EXPECT_EQ(Finding({"nsenter", "-t", "1", "-m", "--", "{x}"}), "5 ");
  EXPECT_EQ(Finding({"busybox", "{x}"}), "1 ");
}

TEST(VariableInProgram, RejectsVariablesInInterpreterCode) {
  const std::pair<std::vector<std::string_view>, std::string_view> cases[] = {
      {{"sh", "-c", "x {x}"}, "2 sh"},
      {{"/bin/bash", "-ec", "{x}"}, "2 bash"},
      {{"bash", "-euo", "pipefail", "-c", "{x}"}, "4 bash"},
      {{"bash", "+e", "-c", "{x}"}, "3 bash"},
      {{"sh", "-c", "-e", "{x}"}, "3 sh"},
      {{"sh", "-c", "--", "{x}"}, "3 sh"},
      {{"sh", "--", "{x}"}, "2 sh"},
      {{"sh", "{x}"}, "1 sh"},
      {{"sh", "-{x}", "a"}, "1 sh"},
      {{"bash", "--rcfile", "{x}", "-i"}, "2 bash"},
      {{"dash", "-c", "{x}"}, "2 dash"},
      {{"ksh93", "-c", "{x}"}, "2 ksh"},
      {{"zsh", "-fc", "{x}"}, "2 zsh"},
      {{"fish", "-c", "{x}"}, "2 fish"},
      {{"fish", "--command={x}"}, "1 fish"},
      {{"busybox", "sh", "-c", "{x}"}, "3 sh"},
      {{"env", "-S", "sh -c {x}"}, "2 env"},
      {{"env", "--split-string={x}"}, "1 env"},
      {{"env", "A=1", "sh", "-c", "{x}"}, "4 sh"},
      {{"nsenter", "--target", "1", "--mount", "sh", "-c", "{x}"}, "6 sh"},
      {{"nsenter", "-t", "1", "-m", "sh", "-c", "{x}"}, "6 sh"},
      {{"chroot", "/host", "/bin/sh", "-c", "{x}"}, "4 sh"},
      {{"timeout", "5", "nice", "-n", "5", "stdbuf", "-oL", "sh", "-c", "{x}"}, "9 sh"},
      {{"flock", "/run/lock", "-c", "{x}"}, "3 flock"},
      {{"flock", "/run/lock", "sh", "-c", "{x}"}, "4 sh"},
      {{"su", "-c", "{x}", "root"}, "2 su"},
      {{"su", "root", "-c", "echo {x}"}, "3 su"},
      {{"su", "-", "root", "-c", "{x}"}, "4 su"},
      {{"su", "-l", "root", "-c", "{x}"}, "4 su"},
      {{"su", "-s", "/bin/sh", "root", "-c", "{x}"}, "5 su"},
      {{"su", "root", "--command={x}"}, "2 su"},
      {{"su", "-c", "true", "--com", "{x}"}, "4 su"},
      {{"su", "-c", "true", "root", "-c{x}"}, "4 su"},
      {{"su", "root", "{x}"}, "2 su"},
      {{"su", "root", "--", "-c", "{x}"}, "4 su"},
      {{"runuser", "root", "-c", "{x}"}, "3 runuser"},
      {{"runuser", "-l", "nobody", "-c", "{x}"}, "4 runuser"},
      {{"runuser", "-u", "nobody", "{x}"}, "3 "},
      {{"runuser", "-u", "nobody", "--", "sh", "-c", "{x}"}, "6 sh"},
      {{"script", "-q", "/dev/null", "-c", "{x}"}, "4 script"},
      {{"sg", "disk", "-c", "{x}"}, "3 sg"},
      {{"find", "/etc", "-exec", "{x}", ";"}, "3 "},
      {{"find", "/etc", "-name", "a", "-ok", "sh", "-c", "{x}", ";"}, "7 sh"},
      {{"nice", "find", "/etc", "-execdir", "env", "{x}", ";"}, "5 "},
      {{"ssh", "host", "probe {x}"}, "2 ssh"},
      {{"watch", "-n", "1", "probe", "{x}"}, "4 watch"},
      {{"start-stop-daemon", "--start", "--exec", "{x}"}, "3 start-stop-daemon"},
      {{"systemd-run", "-p", "User=a", "--", "{x}"}, "4 "},
      {{"Rscript", "-e", "{x}"}, "2 Rscript"},
      {{"python3.11", "-c", "{x}"}, "2 python"},
      {{"python3", "-I", "-c{x}"}, "2 python"},
      {{"python3", "-m", "{x}"}, "2 python"},
      {{"python3", "-W", "{x}", "a.py"}, "2 python"},
      {{"python3", "{x}"}, "1 python"},
      {{"perl", "-e", "{x}"}, "2 perl"},
      {{"perl", "-lane", "{x}"}, "2 perl"},
      {{"perl", "-Mstrict", "-we", "1", "-e", "{x}"}, "5 perl"},
      {{"perl", "-M{x}", "a.pl"}, "1 perl"},
      {{"ruby", "-rjson", "-e", "{x}"}, "3 ruby"},
      {{"node", "-pe", "{x}"}, "2 node"},
      {{"node", "--eval", "{x}"}, "2 node"},
      {{"node", "--eval={x}"}, "1 node"},
      {{"lua5.4", "-e", "{x}"}, "2 lua"},
      {{"lua", "-e", "a=1", "{x}"}, "3 lua"},
      {{"php", "-r", "{x}"}, "2 php"},
      {{"awk", "{x}"}, "1 awk"},
      {{"awk", "-F:", "-v", "a=1", "/{x}/", "/f"}, "4 awk"},
      {{"gawk", "-f", "{x}"}, "2 gawk"},
      {{"sed", "-n", "s/a/{x}/p"}, "2 sed"},
      {{"sed", "-e", "{x}", "/f"}, "2 sed"},
      {{"/opt/with-lock", "sh", "-c", "{x}"}, "3 sh"},
      {{"/opt/with-lock", "--", "python3", "-c", "{x}"}, "4 python"},
  };
  for (const auto& [argv, finding] : cases) {
    std::string line;
    for (const auto argument : argv) line.append(argument).append(" ");
    EXPECT_EQ(Finding(argv), finding) << line;
  }
}

TEST(VariableInProgram, AcceptsVariablesInOtherArguments) {
  const std::vector<std::string_view> cases[] = {
      {},
      {"/usr/local/bin/card-ok", "{x}"},
      {"/usr/local/bin/card-ok", "-c", "{x}"},
      {"/usr/local/bin/card-{{x}}", "{x}"},
      {"sh", "-c", "probe \"$1\"", "sh", "{x}"},
      {"sh", "-c", "probe \"$0\"", "{x}"},
      {"bash", "-euo", "pipefail", "-c", "probe \"$@\"", "--", "{x}", "-c", "{x}"},
      {"sh", "/etc/probe.sh", "{x}"},
      {"sh", "/etc/probe.sh", "-c", "{x}"},
      {"env", "A={x}", "/opt/probe", "{x}"},
      {"env", "A={x}", "sh", "-c", "probe \"$A\""},
      {"nsenter", "-t", "1", "-m", "/opt/probe", "{x}"},
      {"timeout", "{x}", "/opt/probe"},
      {"chroot", "/host", "/opt/probe", "{x}"},
      {"flock", "/run/{x}", "/opt/probe"},
      {"busybox", "sh", "-c", "true", "{x}"},
      {"python3", "-c", "import sys", "{x}", "-c", "{x}"},
      {"python3", "-m", "probe", "{x}"},
      {"python3", "/opt/probe.py", "-c", "{x}"},
      {"perl", "-e", "1", "{x}"},
      {"perl", "-Mfeature", "/opt/a.pl", "{x}"},
      {"ruby", "-e", "1", "{x}"},
      {"node", "-e", "1", "{x}"},
      {"node", "/opt/a.js", "{x}"},
      {"lua", "/opt/a.lua", "{x}"},
      {"php", "-r", "1;", "{x}"},
      {"awk", "-v", "a={x}", "1", "/f"},
      {"awk", "-va={x}", "1", "{x}"},
      {"awk", "-f", "/opt/a.awk", "{x}"},
      {"sed", "-n", "p", "{x}"},
      {"sed", "-e", "p", "{x}"},
      {"/opt/list", "node", "{x}"},
      {"/opt/list", "sh", "{x}"},
      {"su", "-c", "probe \"$1\"", "root", "{x}"},
      {"su", "root", "-c", "probe \"$1\"", "--", "sh", "{x}"},
      {"runuser", "-u", "nobody", "/opt/probe", "{x}"},
      {"find", "/sys/{x}", "-name", "{x}", "-exec", "/opt/probe", "{x}", ";"},
      {"systemd-run", "--wait", "/opt/probe", "{x}"},
      {"/opt/list", "watch", "{x}"},
  };
  for (const auto& argv : cases) {
    std::string line;
    for (const auto argument : argv) line.append(argument).append(" ");
    EXPECT_EQ(Finding(argv), "") << line;
  }
}

}  // namespace
}  // namespace patchbay
