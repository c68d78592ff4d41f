#include "cli/response_text.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace patchbay {
namespace {

TEST(ResponseText, ReportsAnEmptyResponse) {
  EXPECT_EQ(RenderResponse({}), "  (nothing: no device nodes, mounts, env or annotations)\n");
}

TEST(ResponseText, PrintsOneLinePerItem) {
  ContainerResponse response;
  response.devices = {{"/dev/a", "/dev/a", "rw"}, {"/dev/b", "/dev/host-b", "r"}};
  response.mounts = {{"/opt/x", "/opt/x", true}, {"/data", "/srv/data", false}};
  response.envs = {{"A", "1,2"}, {"B", ""}};
  response.annotations = {{"example.com/card", "7"}};
  response.cdi_devices = {"example.com/card=7"};
  EXPECT_EQ(RenderResponse(response),
            "  device      /dev/a rw\n"
            "  device      /dev/b r  from /dev/host-b\n"
            "  mount       /opt/x ro\n"
            "  mount       /data rw  from /srv/data\n"
            "  env         A=1,2\n"
            "  env         B=\n"
            "  annotation  example.com/card=7\n"
            "  cdi         example.com/card=7\n");
}

TEST(ResponseText, EscapesNewlinesInValues) {
  ContainerResponse response;
  response.envs = {{"A", "1\n  env  FAKE=1"}};
  response.devices = {{"/dev/\x1b[2J", "/dev/x\ny", "rw"}};
  const std::string text = RenderResponse(response);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(RenderHook, QuotesForAShell) {
  HookCall call;
  call.commands = {{"sda", {"/sbin/mkfs.ext4", "-q", "/dev/sda"}},
                   {"sdb", {"/bin/sh", "-c", "echo it's $1", "", "a\nb"}}};
  EXPECT_EQ(RenderHook(call),
            "  pre_start   /sbin/mkfs.ext4 -q /dev/sda\n"
            "  pre_start   /bin/sh -c 'echo it'\\''s $1' '' 'a\\x0ab'\n");
  EXPECT_EQ(RenderHook({}), "");
}

}  // namespace
}  // namespace patchbay
