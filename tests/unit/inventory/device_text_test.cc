#include <gmock/gmock.h>

#include <functional>

#include "base/escape.h"
#include "inventory/allocation.h"
#include "unit/discovery/specs.h"

namespace patchbay {
namespace {

using test::CountMatch;
using test::MakeTemplate;
using testing::AllOf;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

using ChangeSpec = std::function<void(ResourceSpec&)>;

/// Returns a device "d7" at /dev/d7 with the serial number `serial`, whose path a regex matched
/// with the groups `captures`.
Device Calling(std::string serial, NamedValues captures = {}) {
  DeviceNode node{"/dev/d7", "/dev/d7", FileType::kCharacter, 188, 7, {{"serial", serial}}};
  node.captures = std::move(captures);
  return {.id = "d7", .nodes = {std::move(node)}};
}

ResourceSpec SpecWith(const ChangeSpec& change) {
  ResourceSpec spec = test::Resource({CountMatch(1)});
  spec.device_nodes.clear();
  spec.max_per_container = 1;
  change(spec);
  return spec;
}

/// Returns why a device is rejected; empty if it is not. Allocate must agree.
std::string RejectionOf(const ResourceSpec& spec, const Device& device) {
  const auto shared = std::make_shared<const ResourceSpec>(spec);
  const auto problem = ProblemWithDevice(shared, device, "node-1");
  Snapshot snapshot{
      shared, 1, {{std::make_shared<const Device>(device), Health::kHealthy, ""}}, {}};
  AllocationContext context;
  context.node_name = "node-1";
  context.resolve = [](const std::string& path) -> Result<HostNode> {
    return HostNode{path, FileType::kCharacter, 188, 7};
  };
  context.holds = [](const HostNode&) { return true; };
  const std::vector<std::string> ids = {AdvertisedId(spec, device.id, 0)};
  if (!spec.health) {  // which Allocate does not check
    EXPECT_EQ(Allocate(snapshot, ids, context).has_value(), !problem.has_value());
  }
  if (!problem) return "";
  EXPECT_EQ(problem->reason, RejectReason::kBadTemplate);
  EXPECT_EQ(problem->detail, Printable(problem->detail));
  return problem->detail;
}

ChangeSpec MountOf(std::string_view host_path, std::string_view container_path = "/data") {
  return [=](ResourceSpec& spec) {
    spec.mounts = {{MakeTemplate(host_path), MakeTemplate(container_path), true}};
  };
}

/// The keys with a path, each with a template that ends with the serial number.
std::vector<std::pair<std::string_view, ChangeSpec>> PathPlaces() {
  const auto node = [](std::optional<std::string_view> host, std::string_view container) {
    return [=](ResourceSpec& spec) {
      spec.device_nodes.emplace_back();
      if (host) spec.device_nodes[0].host_path = MakeTemplate(*host);
      spec.device_nodes[0].container_path = MakeTemplate(container);
    };
  };
  return {{"host_path", MountOf("/srv/tenants/{serial}")},
          {"container_path", MountOf("/srv", "/dev/{serial}")},
          {"container_path", node({}, "/dev/{serial}")},
          {"health.file", [](ResourceSpec& spec) {
             spec.health.emplace();
             spec.health->kind = FileProbe{MakeTemplate("/sys/class/x/{serial}"), "up"};
           }}};
}

TEST(DeviceText, CannotAddPathComponents) {
  for (const auto& [name, change] : PathPlaces()) {
    const ResourceSpec spec = SpecWith(change);
    for (const std::string serial :
         {".",         "..",   "",     "other/private", "/etc", "/",        "../../etc/shadow",
          "a/..",      "a\\b", "a\nb", "caf\xc3\xa9",   "\xff", "a\x1b[2J", "*",
          "$(reboot)", "`x`",  "a;b",  "a|b",           "\"",   "'"}) {
      EXPECT_THAT(RejectionOf(spec, Calling(serial)),
                  AllOf(HasSubstr(std::string(name)), HasSubstr("{serial}")))
          << serial;
    }
    EXPECT_THAT(RejectionOf(spec, Calling(std::string(256, 'x'))), HasSubstr("255"));
    for (const std::string serial :
         {"A9007YHT", "null", "...", "..a", "a b", "a._:@+,=~%#-z", "usb-FTDI_FT232R-if00", "0"}) {
      EXPECT_EQ(RejectionOf(spec, Calling(serial)), "") << serial;
    }
    EXPECT_EQ(RejectionOf(spec, Calling(std::string(255, 'x'))), "");
  }
}

TEST(DeviceText, CannotSelectADeviceNode) {
  for (const std::string_view path : {"/dev/{serial}", "/dev/x/{serial}", "/dev/x{serial}"}) {
    const ResourceSpec spec = SpecWith([=](ResourceSpec& s) {
      s.device_nodes.emplace_back();
      s.device_nodes[0].host_path = MakeTemplate(path);
    });
    for (const std::string serial : {"sda", "null", "A9007YHT", "../sda"}) {
      EXPECT_THAT(RejectionOf(spec, Calling(serial)), HasSubstr("cannot select a device node"));
    }
    EXPECT_EQ(RejectionOf(spec, Calling("sda", {{"serial", "0"}})), "") << "a named group can";
  }
}

TEST(DeviceText, IsCheckedAfterFormattingAndJoining) {
  const auto rejection = [](std::string_view path, std::string serial) {
    return RejectionOf(SpecWith(MountOf(path)), Calling(std::move(serial), {{"dots", "."}}));
  };
  EXPECT_NE(rejection("/srv/{serial}{serial}", "."), "");
  EXPECT_NE(rejection("/srv/{serial:.1}", "../x"), "");
  EXPECT_NE(rejection("/srv/{serial:.2}", "..x"), "");
  EXPECT_NE(rejection("/srv/.{serial}", "."), "");
  EXPECT_NE(rejection("/srv/{dots}{dots}", "A"), "");
  EXPECT_NE(rejection("/srv/{dots}", "A"), "");
  EXPECT_NE(rejection("/srv/{dots}./x", "A"), "");
  EXPECT_NE(rejection("/srv/{serial:.0}", "A"), "");
  EXPECT_NE(rejection("/srv/{serial:/>4}", "A"), "") << "the format adds slashes";
  EXPECT_NE(rejection("/srv/{minor:c}{minor:c}", "A"), "") << "a control character";
  EXPECT_EQ(rejection("/srv/.{serial}", "A"), "");
  EXPECT_EQ(rejection("/srv/{serial:.1}", "A/../.."), "")
      << "text removed by the format does not count";
}

TEST(DeviceText, CannotStartAPath) {
  for (const std::string_view path : {"{serial}", "{serial}/x", "{path:.0}{serial}", "{dir}"}) {
    const ResourceSpec spec = SpecWith(MountOf(path));
    for (const std::string_view serial : {"/etc", "etc", "/"}) {
      EXPECT_NE(RejectionOf(spec, Calling(std::string(serial), {{"dir", "/dev"}})), "")
          << path << " " << serial;
    }
  }
  EXPECT_EQ(RejectionOf(SpecWith(MountOf("{path}")), Calling("/etc")), "");
  EXPECT_EQ(RejectionOf(SpecWith(MountOf("{real_path}.conf")), Calling("/etc")), "");
  EXPECT_EQ(RejectionOf(SpecWith(MountOf("{path}-{serial}")), Calling("A9")), "");
}

TEST(DeviceText, CaptureMayContainPathComponents) {
  const auto rejection = [](std::string_view path, std::string capture) {
    return RejectionOf(SpecWith(MountOf(path)), Calling("A9", {{"below", std::move(capture)}}));
  };
  for (const std::string capture : {"a/b", "a b", "caf\xc3\xa9", "(x)", "/a", "a/b/c"}) {
    EXPECT_EQ(rejection("/srv/x{below}", capture), "") << capture;
  }
  for (const std::string capture : {"..", "a/..", "./a", "a//b", "a/../b", "a\tb", ".", "a/"}) {
    EXPECT_NE(rejection("/srv/{below}/z", capture), "") << capture;
  }
  EXPECT_EQ(rejection("/srv/x{below}", ""), "");
  EXPECT_NE(rejection("/srv/{below}", ""), "") << "it would be /srv itself";
}

TEST(DeviceText, PathVariablesOfTheNodeAreAllowedInPaths) {
  const ResourceSpec spec = SpecWith(MountOf("/host/{path}", "/data{real_path}/{name}"));
  EXPECT_EQ(RejectionOf(spec, Calling("A9")), "");
}

TEST(DeviceText, IsIgnoredIfACaptureOverridesIt) {
  // The device sets a property with the name of the group: the group has precedence.
  const ResourceSpec spec = SpecWith(MountOf("/srv/{serial}"));
  EXPECT_EQ(RejectionOf(spec, Calling("../..", {{"serial", "a/b"}})), "");
}

TEST(DeviceText, CannotFormReservedNames) {
  const auto env = [](std::string_view key) {
    return SpecWith([=](ResourceSpec& s) { s.env = {{MakeTemplate(key), MakeTemplate("x")}}; });
  };
  for (const std::string serial : {"LD_PRELOAD",
                                   "LD_ANYTHING",
                                   "PATH",
                                   "BASH_ENV",
                                   "ENV",
                                   "IFS",
                                   "GLIBC_TUNABLES",
                                   "GCONV_PATH",
                                   "PYTHONPATH",
                                   "PYTHONHOME",
                                   "PYTHONSTARTUP",
                                   "PERL5LIB",
                                   "PERL5OPT",
                                   "RUBYOPT",
                                   "NODE_OPTIONS",
                                   "JAVA_TOOL_OPTIONS",
                                   "LUA_PATH_5_4",
                                   "A B",
                                   "1x",
                                   "",
                                   "A=B",
                                   "A-B",
                                   "caf\xc3\xa9"}) {
    EXPECT_THAT(RejectionOf(env("{serial}"), Calling(serial)),
                AllOf(HasSubstr("environment variable"), HasSubstr("{serial}")))
        << serial;
    if (serial.empty()) continue;
    const std::string rest = serial.substr(0, 1) + "{serial}";
    EXPECT_THAT(RejectionOf(env(rest), Calling(serial.substr(1))),
                AllOf(HasSubstr("environment variable"), HasSubstr("{serial}")))
        << serial;
  }
  EXPECT_NE(RejectionOf(env("LD{serial}"), Calling("_PRELOAD")), "");
  EXPECT_NE(RejectionOf(env("P{serial:.3}"), Calling("ATH9")), "");
  for (const std::string serial : {"A9", "_", "PATH_A9", "LDA"}) {
    EXPECT_THAT(RejectionOf(env("{serial}"), Calling(serial)),
                HasSubstr("text from the configuration"));
    EXPECT_EQ(RejectionOf(env("X{serial}"), Calling(serial)), "") << serial;
  }
  EXPECT_EQ(RejectionOf(env("SERIAL_{serial}"), Calling("1x")), "");

  const auto annotation = [](std::string_view key) {
    return SpecWith([=](ResourceSpec& s) {
      s.annotations = {{MakeTemplate(key), MakeTemplate("x")}};
    });
  };
  for (const std::string serial : {"A B", "", "a/b/c", "-a", "a=", "A.com/x"}) {
    EXPECT_THAT(RejectionOf(annotation("{serial}"), Calling(serial)), HasSubstr("{serial}"))
        << serial;
  }
  EXPECT_NE(RejectionOf(annotation("{serial}"), Calling(std::string(64, 'x'))), "");
  EXPECT_NE(RejectionOf(annotation("{serial}"), Calling("cdi.k8s.io/x")), "")
      << "only the configuration sets the prefix of an annotation";
  EXPECT_EQ(RejectionOf(annotation("example.com/{serial}"), Calling("A9")), "");
  EXPECT_EQ(RejectionOf(annotation("{serial}"), Calling("A9")), "");

  const auto cdi = [](std::string_view name) {
    return SpecWith([=](ResourceSpec& s) { s.cdi_devices = {MakeTemplate(name)}; });
  };
  for (const std::string serial : {"all", "A B", "", "a=b", "a/b", "-", "caf\xc3\xa9"}) {
    EXPECT_THAT(RejectionOf(cdi("vendor.com/gpu={serial}"), Calling(serial)), HasSubstr("{serial}"))
        << serial;
  }
  EXPECT_NE(RejectionOf(cdi("vendor.com/gpu=a{serial}"), Calling("ll")), "");
  EXPECT_NE(RejectionOf(cdi("{serial}/gpu=0"), Calling("other.com/gpu=all")), "");
  EXPECT_EQ(RejectionOf(cdi("vendor.com/gpu={serial}"), Calling("A9")), "");
  EXPECT_EQ(RejectionOf(cdi("vendor.com/gpu=all"), Calling("A9")), "");
}

TEST(DeviceText, IsEscapedAndTruncatedInMessages) {
  const std::string detail =
      RejectionOf(SpecWith(MountOf("/srv/{serial}")), Calling("\x1b[2J" + std::string(3000, 'x')));
  EXPECT_THAT(detail, HasSubstr("\\x1b[2J"));
  EXPECT_LE(detail.size(), 500U);
}

TEST(DeviceText, CannotContainTheEnvSeparator) {
  const auto with = [](std::string_view value, std::string separator, int max_per_container) {
    return SpecWith([=](ResourceSpec& s) {
      s.env = {{MakeTemplate("A"), MakeTemplate(value)}};
      s.env_separator = separator;
      s.max_per_container = max_per_container;
    });
  };
  for (const int several : {0, 2}) {
    EXPECT_THAT(RejectionOf(with("{serial}", ",", several), Calling("a,b")),
                AllOf(HasSubstr("{serial}"), HasSubstr("env_separator")));
    EXPECT_NE(RejectionOf(with("{serial} ", ", ", several), Calling("a,")), "") << "together";
    EXPECT_NE(RejectionOf(with("{below}", ",", several), Calling("A9", {{"below", "a,b"}})), "");
    EXPECT_EQ(RejectionOf(with("{serial}", ";", several), Calling("a,b")), "");
    EXPECT_EQ(RejectionOf(with("{serial},{id}", ",", several), Calling("a")), "")
        << "literal text of the template can";
    EXPECT_EQ(RejectionOf(with("{serial}", "", several), Calling("a")), "");
  }
  EXPECT_EQ(RejectionOf(with("{serial}", ",", 1), Calling("a,b")), "") << "it is never joined";
  ResourceSpec spec = with("x", ",", 0);
  spec.annotations = {{MakeTemplate("a"), MakeTemplate("{serial}")}};
  EXPECT_NE(RejectionOf(spec, Calling("a,b")), "");
}

}  // namespace
}  // namespace patchbay
