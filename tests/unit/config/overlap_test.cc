#include "config/overlap.h"

#include <gmock/gmock.h>

#include "config_support.h"
#include "support/sanitizer.h"

namespace patchbay {
namespace {

using test::Findings;
using test::LoadText;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string Two(std::string_view a, std::string_view b) {
  return Format("[[resource]]\nname = 'a.com/a'\n{}\n[[resource]]\nname = 'a.com/b'\n{}\n", a, b);
}

std::string Match(std::string_view keys) { return Format("match = [{{{}}}]", keys); }

/// Returns the example paths or devices in the warnings.
std::vector<std::string> Examples(std::string_view text) {
  const Loaded loaded = LoadText(text);
  EXPECT_TRUE(loaded.model) << loaded.diagnostics.RenderText();
  std::vector<std::string> examples;
  for (const Diagnostic& d : loaded.diagnostics.Sorted()) {
    EXPECT_EQ(d.code, "shared-node") << d.message;
    examples.push_back(d.message.substr(0, d.message.find(" also belongs")));
  }
  return examples;
}

TEST(Overlap, ReportsAPathThatBothMatch) {
  struct Overlapping {
    std::string_view a, b;
    std::string_view example;
  };
  const Overlapping cases[] = {
      {"path = '/dev/ttyUSB0'", "path = '/dev/ttyUSB0'", "/dev/ttyUSB0"},
      {"path = '/dev/ttyUSB0'", "path = '/dev/tty*'", "/dev/ttyUSB0"},
      {"path = '/dev/ttyUSB*'", "path = '/dev/ttyUSB*'", "/dev/ttyUSB*"},
      {"path = '/dev/{ttyACM,ttyUSB}0'", "path = '/dev/{ttyUSB,x}[0-3]'", "/dev/ttyUSB0"},
      {"path = '/dev/{a,b}'", "path = '/dev/{c*,b}'", "/dev/b"},
      {"path = '/dev/a\\*'", "path = '/dev/a*'", "/dev/a*"},
      {"path = ['/dev/x', '/dev/snd/pcm0']", "path = '/dev/**/pcm*'", "/dev/snd/pcm0"},
      {"path = '/dev/video*'", "path = '/dev/video*', type = 'any'", "/dev/video*"},
      {"path = '/dev/sd*', exclude = '/dev/sda*'", "path = '/dev/sdb'", "/dev/sdb"},
      {"path = '/dev/sd*', exclude = '/dev/sda*'", "path = '/dev/sd*'", "/dev/sd*"},
      // Regular expressions.
      {"path = '/dev/ttyUSB0'", "regex = '/dev/ttyUSB(?P<n>[0-9]+)'", "/dev/ttyUSB0"},
      {"regex = '/dev/(a|s/b)'", "path = '/dev/s/{b,c}'", "/dev/s/b"},
      {"regex = '/dev/\\.x'", "path = '/dev/.x'", "/dev/.x"},
      {"regex = '/dev/x\\d+'", "regex = '/dev/x\\d+'", "/dev/x\\d+"},
      // With the same conditions, or with those of one match.
      {"path = '/dev/ttyUSB*', usb = '0403:6001'", "path = '/dev/ttyUSB*'", "/dev/ttyUSB*"},
      {"path = '/dev/ttyUSB*', usb = '0403:*'", "path = '/dev/ttyUSB0', usb = '0403:*'",
       "/dev/ttyUSB0"},
      {"path = '/dev/sd*', udev = { properties = { ID_BUS = 'usb' } }",
       "path = '/dev/sd*', udev = { properties = { ID_BUS = 'usb' } }", "/dev/sd*"},
      {"path = '/dev/x*', not = { usb_port = '1-1' }",
       "path = '/dev/x1', not = { usb_port = '1-1' }", "/dev/x1"},
      {"path = '/dev/x*', require = '/dev/y*'", "path = '/dev/x1'", "/dev/x1"},
      // Hardware.
      {"usb = '0403:6001'", "usb = '0403:6001'", "each of these USB devices"},
      {"usb = '0403:*', serial = 'A9*'", "usb = '0403:*', serial = 'A9*'",
       "each of these USB devices"},
      {"usb = '0403:*', udev = { subsystem = 'tty' }",
       "usb = '0403:*', udev = { subsystem = 'tty' }", "each of these USB devices"},
      {"pci = '10DE:*'", "pci = '10de:*', exclude = '/dev/dri/*'", "each of these PCI devices"},
  };
  for (const Overlapping& c : cases) {
    EXPECT_THAT(Examples(Two(Match(c.a), Match(c.b))), ElementsAre(c.example)) << c.a << "\n"
                                                                               << c.b;
    EXPECT_THAT(Examples(Two(Match(c.b), Match(c.a))), ElementsAre(c.example)) << c.b << "\n"
                                                                               << c.a;
  }
  const Loaded loaded = LoadText(Two(Match("usb = '*:*'"), Match("usb = '*:*'")));
  EXPECT_THAT(Findings(loaded), ElementsAre("6:17 shared-node"));
  EXPECT_THAT(loaded.diagnostics.Sorted().front().hint, HasSubstr("exclusive"));
}

TEST(Overlap, DoesNotWarnIfAnOverlapIsUncertain) {
  const std::string_view pairs[][2] = {
      {"path = '/dev/ttyUSB*'", "path = '/dev/ttyACM*'"},
      {"path = '/dev/ttyUSB*'", "path = '/dev/ttyACM0'"},
      {"path = '/dev/*'", "path = '/dev/x/y'"},
      {"path = '/dev/a\\*'", "path = '/dev/ab'"},
      {"path = '/dev/tty*', exclude = '/dev/ttyUSB*'", "path = '/dev/ttyUSB0'"},
      {"path = '/dev/ttyUSB0'", "path = '/dev/tty*', exclude = '/dev/*U*'"},
      {"path = '/dev/{a,b}', exclude = '/dev/b'", "path = '/dev/b*'"},
      {"path = '/dev/{a,b}', exclude = '/dev/b'", "path = '/dev/b'"},
      {"path = '/dev/sd*', exclude = '/dev/sd[!a]*'", "path = '/dev/sd*', exclude = '/dev/sda*'"},
      {"path = '/dev/video*'", "path = '/dev/video*', type = 'directory'"},
      {"path = '/dev/ttyACM0'", "regex = '/dev/ttyUSB\\d+'"},
      {"path = '/dev/x*'", "count = 3"},
      // Reported when such a device exists.
      {"path = '/dev/ttyUSB*'", "path = '/dev/tty*'"},
      {"regex = '/dev/x\\d+'", "regex = '/dev/x[0-9]+'"},
      {"path = '/dev/x*'", "regex = '/dev/x[0-9]+'"},
      {"usb = '0403:6001'", "usb = '0403:*'"},
      {"path = '/dev/x*', usb = '*:*'", "usb = '*:*'"},
      // Conditions.
      {"path = '/dev/x*', usb = '0403:6001'", "path = '/dev/x*', usb = '0403:6011'"},
      {"path = '/dev/x*', usb = '*:*'", "path = '/dev/x*', pci = '*:*'"},
      {"path = '/dev/x*', udev = { subsystem = 'tty' }",
       "path = '/dev/x*', udev = { subsystem = 'block' }"},
      {"path = '/dev/x*', not = { usb_port = '1-1' }", "path = '/dev/x1'"},
      {"regex = '/dev/x', usb_port = '1-1'", "regex = '/dev/x', usb_port = '1-2'"},
      {"usb = '0403:6001'", "usb = '0403:6011'"},
      {"usb = '10de:*'", "pci = '10de:*'"},
      {"usb = '*:*', udev = { subsystem = 'tty' }", "usb = '*:*', exclude = '/dev/tty*'"},
      {"pci = '*:*', require = '/dev/vfio/*'", "pci = '*:*', require = '/dev/dri/*'"},
      {"usb = '*:*', pci_address = '0000:3b:00.0'", "usb = '*:*', pci_address = '0000:3c:00.0'"},
      {"usb = '0403:*', not = { usb = '0403:6011' }", "usb = '0403:*'"},
  };
  for (const auto& [a, b] : pairs) {
    EXPECT_THAT(Examples(Two(Match(a), Match(b))), IsEmpty()) << a << "\n" << b;
    EXPECT_THAT(Examples(Two(Match(b), Match(a))), IsEmpty()) << b << "\n" << a;
  }
  EXPECT_THAT(
      Examples(Two("exclusive = true\n" + Match("usb = '0403:6001'"), Match("usb = '0403:6001'"))),
      IsEmpty());
  // Patterns of one resource may overlap. Different Kubernetes nodes have different devices.
  EXPECT_THAT(Examples(Two(Match("path = ['/dev/x*', '/dev/x1']"), Match("path = '/dev/y'"))),
              IsEmpty());
  EXPECT_THAT(Examples(Two("on_nodes = ['a*']\n" + Match("path = '/dev/x*'"),
                           "on_nodes = ['b*']\n" + Match("path = '/dev/x*'"))),
              IsEmpty());
  EXPECT_THAT(
      Examples(Two("on_nodes = ['a*']\n" + Match("path = '/dev/x*'"), Match("path = '/dev/x1'"))),
      ElementsAre("/dev/x1"));
}

TEST(Overlap, PointsAtTheLaterOrTheWildcardPattern) {
  const std::string_view wild = "path = '/dev/x*'", plain = "path = '/dev/x1'";
  EXPECT_THAT(Findings(LoadText(Two(Match(wild), Match(wild)))), ElementsAre("6:18 shared-node"));
  EXPECT_THAT(Findings(LoadText(Two(Match(plain), Match(wild)))), ElementsAre("6:18 shared-node"));
  EXPECT_THAT(Findings(LoadText(Two(Match(wild), Match(plain)))), ElementsAre("3:18 shared-node"));
  const Loaded loaded = LoadText(Two(Match(plain), Match(wild)));
  EXPECT_EQ(loaded.diagnostics.Sorted().front().message,
            "/dev/x1 also belongs to the resource a.com/a, through test.toml:3");
}

TEST(Overlap, WarnsOnceForTwoResources) {
  const std::string several = Match("path = ['/dev/x*', '/dev/y*'], type = 'any'");
  EXPECT_THAT(Examples(Two(several, several)), SizeIs(1));
  EXPECT_THAT(Examples(Two(several, several) + "[[resource]]\nname = 'a.com/c'\n" + several),
              SizeIs(3));
}

/// Returns the resources a.com/r0, a.com/r1 and so on, each with one match. As many are for every
/// node as can be, if there is one more.
template <class Keys>
std::string Many(int resources, Keys keys) {
  std::string text;
  for (int r = 0; r < resources; ++r) {
    text += Format("[[resource]]\nname = 'a.com/r{}'\n{}\n{}\n", r,
                   r < 127 ? "" : "on_nodes = ['n*']", Match(keys(r)));
  }
  return text;
}

TEST(Overlap, ComparesThousandsOfPatterns) {
  using Pattern = std::string (*)(int resource, int i);
  const Pattern patterns[] = {
      [](int r, int i) { return Format("/dev/x{}-{}", r, i); },
      [](int r, int i) { return Format("/dev/x{}-{}-*", r, i); },
      [](int r, int i) { return Format("/dev/r{:03}/x{:02}*", r, i); },
      [](int r, int i) { return Format("/dev/r{:03}/**/x{:02}*", r, i); },
      [](int r, int i) { return Format("/dev/**/x{:03}-{:02}", r, i); },
      [](int r, int i) { return Format("/dev/*[0-9]-{:03}-{:02}", r, i); },
  };
  for (const Pattern pattern : patterns) {
    const std::string text = Many(test::Cases(999), [&](int r) {
      std::string list;
      for (int i = 0; i < 20; ++i) list += Format("'{}', ", pattern(r, i));
      return Format("path = [{}]", list);
    });
    EXPECT_THAT(Examples(text), IsEmpty()) << pattern(0, 0);
    const std::string last = Format("path = '{}'", pattern(test::Cases(999) - 1, 19));
    EXPECT_THAT(Examples(text + "[[resource]]\nname = 'a.com/last'\n" + Match(last)), SizeIs(1))
        << pattern(0, 0);
  }
}

TEST(Overlap, HandlesHostileInput) {
  const auto all = [](int r) { return r % 2 == 0 ? "path = '/dev/**'" : "regex = '/dev/.*'"; };
  EXPECT_THAT(LoadText(Many(1000, all)).diagnostics.Sorted(), SizeIs(201));
  // Loading must end in reasonable time without a crash. The result does not matter.
  using Keys = std::string (*)(int resource);
  const Keys shapes[] = {
      [](int r) { return Format("path = ['/dev/*{0}/x*', '/dev/*{0}/[{0}a]*?']", r); },
      [](int r) { return Format("path = '/dev/*{{a,b,c}}{{d,e,f}}*{}*', exclude = '/**'", r); },
      [](int r) { return Format("path = '/dev/**/*{0}/**/*{0}*/**/?*{0}*'", r); },
      [](int r) { return Format("regex = '/dev/(.*{0}.*)+.*{0}', exclude = '/**/{0}/**'", r); },
      [](int r) {
        return r % 2 == 0 ? Format("path = '/dev/{{a,b,c}}{{d,e,f}}{}'", r)
                          : Format("path = '/dev/**/*{0}/**/*{0}*/**/?*{0}*'", r);
      },
      [](int r) {
        return r % 2 == 0 ? Format("path = '/dev/*{}*'", r) : Format("regex = '/dev/.*{}'", r);
      },
      [](int) { return std::string("usb = '*:*'"); },
      [](int r) { return Format("usb = '*:*', serial = '*{}', exclude = '/{}'", r, r); },
  };
  for (const Keys keys : shapes)
    EXPECT_TRUE(LoadText(Many(test::Cases(900), keys)).model) << keys(0);
  // Paths, patterns and excludes multiply.
  const auto list = [](std::string_view text, int count) {
    std::string items;
    for (int i = 0; i < count; ++i) items += Format("{}{}{}", i == 0 ? "" : ",", text, i);
    return items;
  };
  const std::string paths = Format("path = '/dev/{{{}}}'", list("f", 600));
  std::string patterns = "path = [";
  for (int i = 0; i < 100; ++i) patterns += Format("'/dev/[a-z]*[a-z0-9{}]', ", i);
  std::string excludes = "exclude = [";
  for (int i = 0; i < 10; ++i) excludes += Format("'/dev/*{{{}}}*x{}', ", list("f*", 500), i);
  const Loaded loaded =
      LoadText(Two(Match(paths), Match(patterns + "], " + excludes + "'/dev/*']")));
  EXPECT_TRUE(loaded.model) << loaded.diagnostics.RenderText();
}

}  // namespace
}  // namespace patchbay
