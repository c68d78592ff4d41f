#include "config/overlap.h"

#include <gmock/gmock.h>

#include "config_support.h"
#include "support/sanitizer.h"

namespace patchbay {
namespace {

using test::Findings;
using test::LoadText;
using testing::ElementsAre;
using testing::EndsWith;
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
      {"path = '/dev/ttyUSB*'", "path = '/dev/tty*'", "/dev/ttyUSB0"},
      {"path = '/dev/ttyUSB*'", "path = '/dev/ttyUSB*'", "/dev/ttyUSB0"},
      {"path = '/dev/ttyUSB*'", "path = '/dev/{ttyACM,ttyUSB}[0-3]'", "/dev/ttyUSB0"},
      {"path = ['/dev/x', '/dev/snd/**']", "path = '/dev/**/pcm*'", "/dev/snd/pcm0"},
      {"path = '/dev/*/event*'", "path = '/dev/input/*'", "/dev/input/event0"},
      {"path = '/dev/video*'", "path = '/dev/video[0-9]', type = 'any'", "/dev/video0"},
      // An excluded path is never the example.
      {"path = '/dev/sd*', exclude = '/dev/sd?0'", "path = '/dev/sd[a-c]*'", "/dev/sdb1"},
      {"path = '/dev/sd*', exclude = '/dev/sda*'", "path = '/dev/sd[a-c]'", "/dev/sdb"},
      {"path = '/dev/sd*', exclude = '/dev/sda*'",
       "path = '/dev/sd[a-z]', exclude = '/dev/sd[a-c]'", "/dev/sdz"},
      // Regular expressions.
      {"path = '/dev/tty*'", "regex = '/dev/ttyUSB(?P<n>[0-9]+)'", "/dev/ttyUSB0"},
      {"regex = '/dev/(ttyUSB|ttyACM)\\d+'", "path = '/dev/ttyUSB*'", "/dev/ttyUSB0"},
      {"regex = '/dev/sd[a-z]+'", "path = '/dev/sd*'", "/dev/sda"},
      {"regex = '/dev/sd[a-z]+'", "path = '/dev/sd*', exclude = '/dev/sda'", "/dev/sdaa"},
      {"regex = '/dev/input/event\\d+'", "path = '/dev/*/event*'", "/dev/input/event0"},
      {"regex = '/dev/.*/event\\d+'", "path = '/dev/input/event*'", "/dev/input/event0"},
      {"regex = '/dev/x\\.y\\d?'", "path = '/dev/x*'", "/dev/x.y0"},
      {"regex = '/dev/xy?\\d'", "path = '/dev/x?'", "/dev/x0"},
      {"regex = '/dev/xy*'", "path = '/dev/?'", "/dev/x"},
      {"regex = '/dev/\\.x'", "path = '/dev/.x'", "/dev/.x"},
      {"regex = '/dev/(a|s/b)'", "path = '/dev/s/{b,c}'", "/dev/s/b"},
      {"regex = '/dev/x\\d+'", "regex = '/dev/x\\d+'", "/dev/x\\d+"},
      // With conditions that one device can meet.
      {"path = '/dev/ttyUSB*', usb = '0403:6001'", "path = '/dev/tty*'",
       "/dev/ttyUSB0 of the USB device 0403:6001"},
      {"path = '/dev/ttyUSB*', usb = '0403:*'", "path = '/dev/ttyUSB*', usb = ['1a86:*', '*:6001']",
       "/dev/ttyUSB0 of the USB device 0403:6001"},
      {"path = '/dev/ttyUSB*', usb = '0403:*', udev = { driver = 'ftdi_sio' }",
       "path = '/dev/ttyUSB*', usb = '0403:6001'", "/dev/ttyUSB0 of the USB device 0403:6001"},
      {"regex = '/dev/nvme\\d+', pci = '144d:*'", "path = '/dev/nvme*', pci = '*:*'",
       "/dev/nvme0 of the PCI device 144d:*"},
      {"regex = '/dev/x\\d+', usb_port = '1-1'", "regex = '/dev/x\\d+', usb_port = '1-*'",
       "/dev/x\\d+ of the USB device *:*"},
      {"path = '/dev/sd*', udev = { properties = { ID_BUS = 'usb' } }",
       "path = '/dev/sd?', udev = { properties = { ID_BUS = 'usb' } }", "/dev/sd0"},
      {"path = '/dev/x*', not = { usb_port = '1-1' }",
       "path = '/dev/x1', not = { usb_port = '1-1' }", "/dev/x1"},
  };
  for (const Overlapping& c : cases) {
    EXPECT_THAT(Examples(Two(Match(c.a), Match(c.b))), ElementsAre(c.example)) << c.a << "\n"
                                                                               << c.b;
    EXPECT_THAT(Examples(Two(Match(c.b), Match(c.a))), ElementsAre(c.example)) << c.b << "\n"
                                                                               << c.a;
  }
}

TEST(Overlap, ReportsHardwareThatBothMatch) {
  const std::string_view cases[][3] = {
      {"usb = '0403:6001'", "usb = '0403:*'", "the USB device 0403:6001"},
      {"usb = '*:6001'", "usb = '0403:*'", "the USB device 0403:6001"},
      {"usb = '*:*'", "usb = '*:*'", "the USB device *:*"},
      {"usb = '0403:*', serial = 'A9*'", "usb = '0403:*', serial = 'A9*'", "the USB device 0403:*"},
      {"usb = '0403:*', serial = 'A9*'", "usb = '0403:*', serial = 'A97'", "the USB device 0403:*"},
      {"usb = '0403:*', serial = 'A9*'", "usb = '0403:*'", "the USB device 0403:*"},
      {"usb = '0403:*', udev = { subsystem = 'tty' }", "usb = '0403:6001'",
       "the USB device 0403:6001"},
      {"usb = '0403:*', udev = { subsystem = 'tty' }",
       "usb = '0403:6001', udev = { subsystem = 'tty' }", "the USB device 0403:6001"},
      {"pci = '10DE:*'", "pci = '10de:2204', exclude = '/dev/dri/*'", "the PCI device 10de:2204"},
      {"pci = '10de:*'", "pci = '10de:*'", "the PCI device 10de:*"},
      {"usb = ['1a86:*', '0403:6001']", "usb = ['0403:*', '2109:*']", "the USB device 0403:6001"},
      {"usb = '*:*', usb_port = '1-2'", "usb = '0403:*', usb_port = ['1-1', '1-*']",
       "the USB device 0403:*"},
      {"pci = '*:*', pci_address = '0000:3b:00.0'", "pci = '10de:*'", "the PCI device 10de:*"},
  };
  for (const auto& [a, b, common] : cases) {
    EXPECT_THAT(Examples(Two(Match(a), Match(b))), ElementsAre(common)) << a << "\n" << b;
    EXPECT_THAT(Examples(Two(Match(b), Match(a))), ElementsAre(common)) << b << "\n" << a;
  }
  const Loaded loaded = LoadText(Two(Match("usb = '*:*'"), Match("usb = '*:*'")));
  EXPECT_THAT(Findings(loaded), ElementsAre("6:17 shared-node"));
  EXPECT_THAT(loaded.diagnostics.Sorted().front().hint, HasSubstr("exclusive"));
}

TEST(Overlap, DoesNotWarnIfSharedHardwareIsUncertain) {
  const std::string_view pairs[][2] = {
      {"usb = '0403:6001'", "usb = '0403:6011'"},
      {"usb = '0403:*'", "usb = '0404:*'"},
      {"pci = '10de:2204'", "pci = '10de:2206'"},
      {"usb = '10de:*'", "pci = '10de:*'"},
      {"usb = '*:*', serial = 'A9*'", "usb = '*:*', serial = 'B1'"},
      {"usb = '*:*', serial = 'A9*'", "usb = '*:*', serial = 'B*'"},
      {"usb = '*:*', serial = 'A9*'", "usb = '*:*', serial = '?*'"},  // not compared
      {"usb = '*:*', udev = { subsystem = 'tty' }", "usb = '*:*', udev = { subsystem = 'sound' }"},
      {"usb = '*:*', udev = { subsystem = 'tty' }", "usb = '*:*', exclude = '/dev/tty*'"},
      {"pci = '*:*', require = '/dev/vfio/*'", "pci = '*:*', require = '/dev/dri/*'"},
      {"usb = '*:*', udev = { subsystem = 'a', properties = { X = '1' } }",
       "usb = '*:*', udev = { subsystem = 'a', attributes = { X = '1' } }"},
      {"path = '/dev/x*', usb = '*:*'", "usb = '*:*'"},
      {"usb = ['0403:6001', '0403:6010']", "usb = ['0403:6011', '1a86:*']"},
      {"usb = '*:*', usb_port = '1-1'", "usb = '*:*', usb_port = ['1-2', '1-3']"},
      {"pci = '*:*', pci_address = '0000:3b:00.0'", "pci = '*:*', pci_address = '0000:3c:*'"},
      {"usb = '*:*', pci_address = '0000:3b:00.0'", "usb = '*:*', pci_address = '0000:3c:00.0'"},
      {"usb = '0403:*', not = { usb = '0403:6011' }", "usb = '0403:6011'"},
      {"path = '/dev/x*', not = { usb_port = '1-1' }", "path = '/dev/x1'"},
      {"path = '/dev/x*', usb = '0403:6001'", "path = '/dev/x*', usb = '0403:6011'"},
      {"path = '/dev/x*', usb_port = '1-1'", "path = '/dev/x*', usb_port = '1-2'"},
      {"path = '/dev/x*', usb = '*:*', serial = 'A9*'",
       "path = '/dev/x*', usb = '*:*', serial = 'B1'"},
      {"path = '/dev/x*', usb = '*:*'", "path = '/dev/x*', pci = '*:*'"},
      {"path = '/dev/x*', usb = '*:*'", "path = '/dev/x*', udev = { subsystem = 'tty' }"},
      {"regex = '/dev/x', usb = '0403:6001'", "regex = '/dev/x', usb = '0403:6011'"},
      {"path = '/dev/x*', udev = { subsystem = 'tty' }",
       "path = '/dev/x*', udev = { subsystem = 'block' }"},
  };
  for (const auto& [a, b] : pairs) {
    EXPECT_THAT(Examples(Two(Match(a), Match(b))), IsEmpty()) << a << "\n" << b;
    EXPECT_THAT(Examples(Two(Match(b), Match(a))), IsEmpty()) << b << "\n" << a;
  }
  EXPECT_THAT(
      Examples(Two("exclusive = true\n" + Match("usb = '0403:6001'"), Match("usb = '0403:*'"))),
      IsEmpty());
}

TEST(Overlap, DoesNotWarnWithoutASharedPath) {
  const std::string_view pairs[][2] = {
      {"path = '/dev/ttyUSB*'", "path = '/dev/ttyACM*'"},
      {"path = '/dev/sd[a-c]'", "path = '/dev/sd[d-f]'"},
      {"path = '/dev/**/event*'", "path = '/dev/**/mouse*'"},
      {"path = '/dev/*'", "path = '/dev/*/*'"},
      {"path = '/dev/tty*', exclude = '/dev/ttyUSB*'", "path = '/dev/ttyUSB*'"},
      {"path = '/dev/tty*'", "path = '/dev/ttyUSB*', exclude = '/dev/*U*'"},
      {"path = '/dev/tty*', exclude = '/dev/ttyUSB*'", "regex = '/dev/ttyUSB\\d+'"},
      {"path = '/dev/video*'", "path = '/dev/video*', type = 'directory'"},
      {"path = '/dev/ttyACM*'", "regex = '/dev/ttyUSB\\d+'"},
      {"path = '/dev/tty?'", "regex = '/dev/tty\\d\\d'"},
      {"regex = '/dev/x\\d+'", "regex = '/dev/x[0-9]+'"},
      {"path = '/dev/x*'", "count = 3"},
  };
  for (const auto& [a, b] : pairs) {
    EXPECT_THAT(Examples(Two(Match(a), Match(b))), IsEmpty()) << a << "\n" << b;
  }
  // Patterns of one resource may overlap. Different Kubernetes nodes have different devices.
  EXPECT_THAT(Examples(Two(Match("path = ['/dev/x*', '/dev/*1']"), Match("path = '/dev/y'"))),
              IsEmpty());
  EXPECT_THAT(Examples(Two("on_nodes = ['a*']\n" + Match("path = '/dev/x*'"),
                           "on_nodes = ['b*']\n" + Match("path = '/dev/*1'"))),
              IsEmpty());
  EXPECT_THAT(
      Examples(Two("on_nodes = ['a*']\n" + Match("path = '/dev/x*'"), Match("path = '/dev/*1'"))),
      ElementsAre("/dev/x1"));
}

TEST(Overlap, PointsAtTheLaterOrTheWildcardPattern) {
  const std::string_view wild = "path = '/dev/x*'", plain = "path = '/dev/x1'";
  const std::string_view other = "path = '/dev/?1'";
  EXPECT_THAT(Findings(LoadText(Two(Match(wild), Match(other)))), ElementsAre("6:18 shared-node"));
  EXPECT_THAT(Findings(LoadText(Two(Match(plain), Match(wild)))), ElementsAre("6:18 shared-node"));
  EXPECT_THAT(Findings(LoadText(Two(Match(wild), Match(plain)))), ElementsAre("3:18 shared-node"));
  const Loaded loaded = LoadText(Two(Match(wild), Match(other)));
  EXPECT_EQ(loaded.diagnostics.Sorted().front().message,
            "/dev/x1 also belongs to the resource a.com/a, through test.toml:3");
}

TEST(Overlap, WarnsOnceForTwoResources) {
  const std::string several = Match("path = ['/dev/x*', '/dev/y*'], type = 'any'");
  EXPECT_THAT(Examples(Two(several, several)), SizeIs(1));
  EXPECT_THAT(Examples(Two(several, several) + "[[resource]]\nname = 'a.com/c'\n" + several),
              SizeIs(3));
}

/// Returns the resources a.com/r0, a.com/r1 and so on, each with one match.
template <class Keys>
std::string Many(int resources, Keys keys) {
  std::string text;
  for (int r = 0; r < resources; ++r) {
    text += Format("[[resource]]\nname = 'a.com/r{}'\n{}\n", r, Match(keys(r)));
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
        return r % 2 == 0 ? Format("path = '/dev/*{}*'", r) : Format("regex = '/dev/.*{}'", r);
      },
      [](int) { return std::string("usb = '*:*'"); },
      [](int r) { return Format("usb = '*:*', serial = '*{}', exclude = '/{}'", r, r); },
  };
  for (const Keys keys : shapes)
    EXPECT_TRUE(LoadText(Many(test::Cases(900), keys)).model) << keys(0);
}

}  // namespace
}  // namespace patchbay
