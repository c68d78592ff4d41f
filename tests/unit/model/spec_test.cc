#include "model/spec.h"

#include <gmock/gmock.h>

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Template TemplateOf(std::string_view text) { return Template::Compile(text).value(); }

TEST(DeviceTemplates, ContainsAllExceptTheId) {
  ResourceSpec spec;
  EXPECT_THAT(DeviceTemplates(spec, 0), IsEmpty());

  spec.matches.push_back({CountSource{1}, {}, TemplateOf("identity")});
  spec.device_nodes.push_back({});
  spec.device_nodes.push_back({TemplateOf("node-host"), {}});
  spec.device_nodes.push_back({{}, TemplateOf("node-container")});
  spec.mounts.push_back({TemplateOf("mount-host"), TemplateOf("mount-container")});
  spec.env.emplace_back(TemplateOf("env-key"), TemplateOf("env-value"));
  spec.annotations.emplace_back(TemplateOf("note-key"), TemplateOf("note-value"));
  spec.cdi_devices.push_back(TemplateOf("cdi"));
  std::vector<std::string> texts;
  for (const Template* t : DeviceTemplates(spec, 0)) texts.push_back(t->text());
  EXPECT_THAT(texts, ElementsAre("node-host", "node-container", "mount-host", "mount-container",
                                 "env-key", "env-value", "note-key", "note-value", "cdi"));
}

TEST(UsesSysfs, IsTrueForDraAndConditions) {
  ResourceSpec spec;
  spec.matches.emplace_back().source = PathSource{};
  EXPECT_FALSE(UsesSysfs(spec));
  spec.api = Api::kDra;
  EXPECT_TRUE(UsesSysfs(spec)) << "for attributes";
  spec.api = Api::kDevicePlugin;
  spec.matches.front().conditions.usb.emplace();
  EXPECT_TRUE(UsesSysfs(spec));
  spec.matches.emplace_back().source = PathSource{};
  EXPECT_TRUE(UsesSysfs(spec)) << "for one of two matches";
}

TEST(ResourcesFor, SelectsByOnNodesPatterns) {
  struct Case {
    std::vector<std::string_view> patterns;
    std::string_view node;
    bool expected;
  };
  const Case cases[] = {
      {{}, "anything", true},
      {{}, "", true},
      {{"rack-*"}, "rack-7", true},
      {{"rack-*"}, "xrack-7", false},
      {{"rack-*"}, "", false},
      {{"a", "b"}, "b", true},
      {{"a", "b"}, "ab", false},
      {{"node[1-3].example.com"}, "node2.example.com", true},
      {{"node[1-3].example.com"}, "node4.example.com", false},
      {{"*"}, "", true},
      {{"Rack"}, "rack", false},
  };
  for (const Case& c : cases) {
    ResourceSpec spec;
    for (const std::string_view pattern : c.patterns) {
      spec.on_nodes.only.push_back(NamePattern::Compile(pattern).value());
    }
    EXPECT_EQ(ResourcesFor({{}, {spec}}, std::string(c.node)).size() == 1, c.expected) << c.node;
  }
}

}  // namespace
}  // namespace patchbay
