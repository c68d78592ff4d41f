#include "model/validators.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

/// Returns the offset of the error in the template, or -1.
int OffsetIn(std::string_view text, Problem (*rule)(const TemplateShape&)) {
  const auto compiled = Template::Compile(text);
  EXPECT_TRUE(compiled) << text;
  if (!compiled) return -2;
  const auto problem = rule(ShapeOf(*compiled));
  return problem ? static_cast<int>(problem->offset) : -1;
}

TEST(PathRule, ChecksTemplates) {
  for (const std::string_view good :
       {"/", "/a", "/a//b/./c/", "/a{x}", "/a/.{x}", "/a/..{x}", "{path}", "{real_path:.9}/x",
        "/host{path}", "/host/{path}", "/{{x}}", "/srv/{id}/{resource}", "/a/{x}{y}"}) {
    EXPECT_EQ(OffsetIn(good, ProblemWithPath), -1) << good;
  }
  const std::pair<std::string_view, int> bad[] = {
      {"", 0},        {"a", 0},      {"{x}", 0},     {"{name}/a", 0},  {"{id}", 0},
      {"./a", 0},     {"/a/..", 3},  {"/../{x}", 1}, {"/{x}/../a", 5}, {"/{x}", 1},
      {"/{id}/a", 1}, {"/./{x}", 3}, {"/a\tb", 2},   {"{{a}}", 0},     {"{index}", 0}};
  for (const auto& [text, offset] : bad) {
    EXPECT_EQ(OffsetIn(text, ProblemWithPath), offset) << text;
  }
  EXPECT_EQ(OffsetIn("/./", ProblemWithPath), -1);
  EXPECT_EQ(OffsetIn("/./", ProblemWithContainerPath), 0);
}

TEST(ProblemWithNodeTarget, RejectsProcAndSys) {
  for (const std::string_view bad :
       {"/proc/cpuinfo", "/proc/a/{name}", "//proc/./x", "/sys/fs/x", "/sys/{name}", "/./"}) {
    EXPECT_EQ(OffsetIn(bad, ProblemWithNodeTarget), 0) << bad;
  }
  for (const std::string_view good :
       {"/dev/x", "/processes/x", "/sys-x/a", "/dev/proc/x", "/opt/sys/x"}) {
    EXPECT_EQ(OffsetIn(good, ProblemWithNodeTarget), -1) << good;
  }
}

TEST(ProblemWithMountTarget, RejectsWhatRuncRefusesBelowProc) {
  for (const std::string_view bad :
       {"/proc/a", "/proc/acpi/{name}", "//proc/./x/", "/proc/cpuinfo/x", "/proc/sys/kernel",
        "/proc/net", "/proc/self/x", "/./"}) {
    EXPECT_EQ(OffsetIn(bad, ProblemWithMountTarget), 0) << bad;
  }
  for (const std::string_view good :
       {"/proc/cpuinfo", "//proc/./meminfo/", "/proc/net/dev", "/proc/sys/kernel/ns_last_pid",
        "/proc/{name}", "/proc/sys/{name}", "/proc/mem{name}", "/processes", "/sys/x",
        "/sys/fs/cgroup", "/proc"}) {
    EXPECT_EQ(OffsetIn(good, ProblemWithMountTarget), -1) << good;
  }
}

TEST(ReservedEnv, IncludesVariablesThatSelectCode) {
  for (const std::string_view name :
       {"PATH",           "LD_PRELOAD",   "LD_LIBRARY_PATH",   "LD_AUDIT",      "LD_",
        "GLIBC_TUNABLES", "GCONV_PATH",   "BASH_ENV",          "ENV",           "IFS",
        "PYTHONPATH",     "PYTHONHOME",   "PYTHONSTARTUP",     "PERL5LIB",      "PERL5OPT",
        "RUBYOPT",        "NODE_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "LUA_INIT"}) {
    EXPECT_TRUE(IsReservedEnv(name)) << name;
  }
  for (const std::string_view name : {"", "P", "PATHS", "MY_PATH", "LD", "LDFLAGS", "NODE_NAME",
                                      "PYTHONUNBUFFERED", "env", "LIBVA_DRIVERS_PATH", "DEVICE"}) {
    EXPECT_FALSE(IsReservedEnv(name)) << name;
  }
}

TEST(NameRules, CheckTemplates) {
  EXPECT_EQ(OffsetIn("A_{x}", ProblemWithEnvName), -1);
  EXPECT_EQ(OffsetIn("A{x}-", ProblemWithEnvName), 4);
  EXPECT_EQ(OffsetIn("{x}", ProblemWithEnvName), 0) << "the device would set the whole name";
  EXPECT_EQ(OffsetIn("{id}", ProblemWithEnvName), 0);
  EXPECT_EQ(OffsetIn("example.com/{x}", ProblemWithAnnotationKey), -1);
  EXPECT_EQ(OffsetIn("{x}", ProblemWithAnnotationKey), -1);
  EXPECT_EQ(OffsetIn("{x}/a", ProblemWithAnnotationKey), 0);
  EXPECT_EQ(OffsetIn("a.{id}/a", ProblemWithAnnotationKey), 2);
  EXPECT_EQ(OffsetIn("{resource}-x", ProblemWithAnnotationKey), -1);
  EXPECT_EQ(OffsetIn("{node_name}/x", ProblemWithAnnotationKey), 0);
  EXPECT_EQ(OffsetIn("{x}.com/c=a", ProblemWithCdiName), 0);
  EXPECT_EQ(OffsetIn("v.com/{id}=a", ProblemWithCdiName), 6);
  EXPECT_EQ(OffsetIn("v.com/c={x}", ProblemWithCdiName), -1);
  EXPECT_EQ(OffsetIn("v.com/c=all", ProblemWithCdiName), -1) << "literal text is allowed";
  EXPECT_EQ(OffsetIn("{x}", ProblemWithCdiName), 0);
}

}  // namespace
}  // namespace patchbay
