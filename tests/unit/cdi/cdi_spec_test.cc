#include "cdi/cdi_spec.h"

#include <gmock/gmock.h>

#include <string>

namespace patchbay {
namespace {

using testing::HasSubstr;

/// A spec with every field.
CdiSpec Full() {
  CdiDevice first{"6e0c-s"};
  first.edits.env = {{"A", ""}, {"SERIAL_0", "/dev/ttyUSB0=\n\u00e9"}};
  first.edits.device_nodes = {{"/dev/ttyUSB0", "/dev/ttyUSB3", "rw"}, {"/dev/null", "", "r"}};
  first.edits.mounts = {{"/opt/x", "/opt/y", {"ro", "bind"}}, {"/a", "/b", {}}};
  first.edits.hooks = {{"/net/patchbay-net", {"patchbay-net", "--up"}, 10}, {"/p", {"p"}, 0}};
  first.edits.additional_gids = {20, 4'294'967'294};
  return {"patchbay.dev/claim", {first, {"second"}}};
}

CdiSpec With(CdiEdits edits) { return {"a.com/b", {{"x", std::move(edits)}}}; }

TEST(CdiSpec, IsTheSameAfterWritingAndReading) {
  const std::string json = CdiToJson(Full()).value();
  EXPECT_EQ(CdiFromJson(json).value(), Full());
  EXPECT_EQ(CdiToJson(CdiFromJson(json).value()).value(), json);
}

TEST(CdiSpec, HasTheNumbersAndTheOwnerOfANode) {
  const CdiDeviceNode node{"/dev/a", "", "r", 'b', 8, 0, 0640, 0, 6};
  const CdiSpec spec = With({.device_nodes = {node}});
  const std::string json = CdiToJson(spec).value();
  EXPECT_EQ(CdiFromJson(json).value(), spec);
  for (const char* field : {"\"type\": \"b\"", "\"major\": 8", "\"minor\": 0", "\"fileMode\": 416",
                            "\"uid\": 0", "\"gid\": 6"}) {
    EXPECT_THAT(json, HasSubstr(field));
  }
}

TEST(CdiSpec, WritesTheFieldsOfTheSpecification) {
  EXPECT_EQ(CdiToJson(With({{{"N", "v"}},
                            {{"/dev/a", "/dev/b", "rwm"}},
                            {{"/c", "/d", {"ro"}}},
                            {{"/p", {"p", "-x"}, 10}},
                            {7}}))
                .value(),
            R"({
  "cdiVersion": "0.7.0",
  "kind": "a.com/b",
  "devices": [
    {
      "name": "x",
      "containerEdits": {
        "env": [
          "N=v"
        ],
        "deviceNodes": [
          {
            "path": "/dev/a",
            "hostPath": "/dev/b",
            "permissions": "rwm"
          }
        ],
        "mounts": [
          {
            "hostPath": "/c",
            "containerPath": "/d",
            "options": [
              "ro"
            ]
          }
        ],
        "hooks": [
          {
            "hookName": "createRuntime",
            "path": "/p",
            "args": [
              "p",
              "-x"
            ],
            "timeout": 10
          }
        ],
        "additionalGids": [
          7
        ]
      }
    }
  ]
}
)");
}

TEST(CdiSpec, HasTheLowestVersionWithItsFields) {
  CdiSpec spec = With({});
  EXPECT_EQ(CdiVersionOf(spec), "0.3.0");
  spec.devices[0].edits.device_nodes = {{"/dev/a", "", "r"}};
  spec.devices[0].edits.mounts = {{"/c", "/d", {}}};
  EXPECT_EQ(CdiVersionOf(spec), "0.3.0");
  spec.devices[0].edits.device_nodes[0].host_path = "/dev/b";
  EXPECT_EQ(CdiVersionOf(spec), "0.5.0");
  spec.devices[0].edits.additional_gids = {1};
  EXPECT_EQ(CdiVersionOf(spec), "0.7.0");
  EXPECT_EQ(CdiVersionOf({"a.com/b", {{"1"}}}), "0.5.0");
  EXPECT_EQ(CdiVersionOf({"a.com/b.c", {{"x"}}}), "0.6.0");
}

TEST(CdiSpec, HasAMaximumSize) {
  const auto json = CdiToJson(With({.env = {{"a", std::string(kMaxCdiBytes, 'a')}}}));
  ASSERT_FALSE(json);
  EXPECT_THAT(json.error().message, HasSubstr("exceeds the limit"));
}

TEST(CdiSpec, RejectsDamagedFiles) {
  const std::string valid = CdiToJson(Full()).value();
  // But for the line feed.
  for (std::size_t size = 0; size < valid.size() - 1; ++size) {
    EXPECT_FALSE(CdiFromJson(std::string_view(valid).substr(0, size))) << size;
  }
  for (const char* text : {"[]", "{}", R"({"kind": "a/b"})", R"({"kind": 1, "devices": []})",
                           R"({"kind": "a/b", "devices": [{"name": "x"}]})",
                           R"({"kind": "a/b", "devices": [{"name": 1, "containerEdits": {}}]})"}) {
    const auto spec = CdiFromJson(text);
    ASSERT_FALSE(spec) << text;
    EXPECT_EQ(spec.error().kind, ErrorKind::kInvalid);
  }
}

}  // namespace
}  // namespace patchbay
