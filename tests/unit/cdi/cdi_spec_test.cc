#include "cdi/cdi_spec.h"

#include <gmock/gmock.h>

#include <string>

namespace patchbay {
namespace {

using testing::HasSubstr;

/// A spec with every field.
CdiSpec Full() {
  CdiDevice first{"6e0c-s", {{"patchbay.dev/device", "node1/serial \"x\""}}, {}};
  first.edits.env = {{"A", ""}, {"SERIAL_0", "/dev/ttyUSB0=\n\u00e9"}};
  first.edits.device_nodes = {{"/dev/ttyUSB0", "/dev/ttyUSB3", "rw"}, {"/dev/null", "", "r"}};
  first.edits.mounts = {{"/opt/x", "/opt/y", {"ro", "bind"}}, {"/a", "/b", {}}};
  first.edits.additional_gids = {20, 4'294'967'294};
  return {"patchbay.dev/claim", {first, {"second", {}, {}}}};
}

CdiSpec With(CdiEdits edits) { return {"a.com/b", {{"x", {}, std::move(edits)}}}; }

std::string ErrorOf(const CdiSpec& spec) {
  const auto json = CdiToJson(spec);
  return json ? "no error" : json.error().message;
}

TEST(CdiSpec, IsTheSameAfterWritingAndReading) {
  const std::string json = CdiToJson(Full()).value();
  EXPECT_EQ(CdiFromJson(json).value(), Full());
  EXPECT_EQ(CdiToJson(CdiFromJson(json).value()).value(), json);
}

TEST(CdiSpec, HasTheNumbersAndTheOwnerOfANode) {
  CdiDeviceNode node{"/dev/a", "", "r", 'b', 8, 0, 0640, 0, 6};
  const CdiSpec spec = With({.device_nodes = {node}});
  const std::string json = CdiToJson(spec).value();
  EXPECT_EQ(CdiFromJson(json).value(), spec);
  for (const char* field : {"\"type\": \"b\"", "\"major\": 8", "\"minor\": 0", "\"fileMode\": 416",
                            "\"uid\": 0", "\"gid\": 6"}) {
    EXPECT_THAT(json, HasSubstr(field));
  }
  node.type = 'p';
  EXPECT_THAT(ErrorOf(With({.device_nodes = {node}})), HasSubstr("is not c or b"));
  node.type = 'c';
  node.mode = 04640;
  EXPECT_THAT(ErrorOf(With({.device_nodes = {node}})), HasSubstr("more than permissions"));
}

TEST(CdiSpec, WritesTheFieldsOfTheSpecification) {
  EXPECT_EQ(
      CdiToJson(With({{{"N", "v"}}, {{"/dev/a", "/dev/b", "rwm"}}, {{"/c", "/d", {"ro"}}}, {7}}))
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
  spec.devices[0].annotations["a"] = "b";
  EXPECT_EQ(CdiVersionOf(spec), "0.6.0");
  spec.devices[0].edits.additional_gids = {1};
  EXPECT_EQ(CdiVersionOf(spec), "0.7.0");
  EXPECT_EQ(CdiVersionOf({"a.com/b", {{"1", {}, {}}}}), "0.5.0");
  EXPECT_EQ(CdiVersionOf({"a.com/b.c", {{"x", {}, {}}}}), "0.6.0");
}

TEST(CdiSpec, RejectsWhatARuntimeWouldReject) {
  EXPECT_EQ(ErrorOf({"a.com/b", {}}), "a CDI file needs a device");
  for (const std::string kind : {"", "a", "/b", "a/", "a b/c", "a/b=c", "1a/b"}) {
    EXPECT_THAT(ErrorOf({kind, {{"x", {}, {}}}}), HasSubstr("is not valid")) << kind;
  }
  EXPECT_THAT(ErrorOf({"a/" + std::string(64, 'c'), {{"x", {}, {}}}}), HasSubstr("63 bytes"));
  for (const std::string name : {"", "-a", "a-", "a/b", "a b", "\xff"}) {
    EXPECT_THAT(ErrorOf({"a.com/b", {{name, {}, {}}}}), HasSubstr("is not valid")) << name;
  }
  EXPECT_THAT(ErrorOf({"a.com/b", {{"x", {}, {}}, {"x", {}, {}}}}), HasSubstr("occurs twice"));
  EXPECT_THAT(ErrorOf({"a.com/b", {{"x", {{"a b", ""}}, {}}}}), HasSubstr("the annotation"));
  EXPECT_THAT(ErrorOf({"a.com/b", {{"x", {{"a", "\xff"}}, {}}}}), HasSubstr("is not text"));
}

TEST(CdiSpec, RejectsInvalidEdits) {
  EXPECT_THAT(ErrorOf(With({.env = {{"a=b", ""}}})), HasSubstr("environment variable \"a=b\""));
  EXPECT_THAT(ErrorOf(With({.env = {{"a", std::string("x\0y", 3)}}})), HasSubstr("is not text"));
  for (const std::string path : {"", "dev/a", "/", "/dev/../a", "/dev//a", "/dev/\xff"}) {
    EXPECT_THAT(ErrorOf(With({.device_nodes = {{path, "", "r"}}})), HasSubstr("absolute")) << path;
    EXPECT_THAT(ErrorOf(With({.mounts = {{path, "/a", {}}}})), HasSubstr("absolute")) << path;
    EXPECT_THAT(ErrorOf(With({.mounts = {{"/a", path, {}}}})), HasSubstr("absolute")) << path;
  }
  EXPECT_THAT(ErrorOf(With({.device_nodes = {{"/a", "b", "r"}}})), HasSubstr("the host path"));
  for (const std::string permissions : {"", "x", "wr", "rr"}) {
    EXPECT_THAT(ErrorOf(With({.device_nodes = {{"/a", "", permissions}}})),
                HasSubstr("r, w and m"));
  }
  EXPECT_THAT(ErrorOf(With({.mounts = {{"/a", "/b", {"\xff"}}}})), HasSubstr("mount option"));
  EXPECT_EQ(ErrorOf(With({.additional_gids = {5, 0}})), "a CDI file cannot grant group 0");
  EXPECT_THAT(ErrorOf(With({.env = {{"a", std::string(kMaxCdiBytes, 'a')}}})),
              HasSubstr("exceeds the limit"));
}

/// A minimal file, and a part of it that is replaced by something invalid.
struct Damage {
  std::string part;
  std::string by;
};

TEST(CdiSpec, RejectsDamagedFiles) {
  const std::string valid =
      R"({"cdiVersion": "0.7.0", "kind": "a.com/b", "devices": [{"name": "x", )"
      R"("annotations": {"k": "v"}, "containerEdits": {"env": ["A=b"], )"
      R"("deviceNodes": [{"path": "/a", "permissions": "r"}], )"
      R"("mounts": [{"hostPath": "/a", "containerPath": "/b", "options": ["ro"]}], )"
      R"("additionalGids": [5]}}]})";
  ASSERT_TRUE(CdiFromJson(valid)) << CdiFromJson(valid).error().message;
  const Damage damages[] = {
      {"{\"cdi", "{\"extra\": 1, \"cdi"},
      {"{\"cdi", "[{\"cdi"},
      {R"("cdiVersion": "0.7.0", )", ""},
      {"0.7.0", "0.6.0"},
      {"0.7.0", "1.0.0"},
      {"\"0.7.0\"", "0.7"},
      {R"("kind": "a.com/b", )", ""},
      {R"("name": "x", )", ""},
      {R"("name": "x", )", R"("name": 5, )"},
      {R"("name": "x", )", R"("name": "x", "more": {}, )"},
      {R"({"k": "v"})", R"(["k"])"},
      {R"({"k": "v"})", R"({"k": 1})"},
      {R"(["A=b"])", R"("A=b")"},
      {R"("A=b")", R"("A")"},
      {R"("A=b")", R"("A=b", "A=c")"},
      {R"("A=b")", "7"},
      {R"({"path": "/a", "permissions": "r"})", "5"},
      {R"("permissions": "r")", R"("type": "c")"},
      {R"(, "permissions": "r")", ""},
      {R"(["ro"])", R"([1])"},
      {R"("containerPath": "/b", )", ""},
      {"[5]", "[0]"},
      {"[5]", "[-5]"},
      {"[5]", "[5.0]"},
      {"[5]", "[5e1]"},
      {"[5]", "[4294967296]"},
      {"[5]", R"(["5"])"},
      {R"("additionalGids")", R"("intelRdt")"},
      {"}}]}", "}}]} x"},
  };
  for (const Damage& damage : damages) {
    std::string text = valid;
    const auto at = text.find(damage.part);
    ASSERT_NE(at, std::string::npos) << damage.part;
    text.replace(at, damage.part.size(), damage.by);
    EXPECT_FALSE(CdiFromJson(text)) << text;
  }
  for (std::size_t size = 0; size < valid.size(); ++size) {
    EXPECT_FALSE(CdiFromJson(std::string_view(valid).substr(0, size))) << size;
  }
  EXPECT_FALSE(CdiFromJson(valid + std::string(kMaxCdiBytes, ' ')));
}

}  // namespace
}  // namespace patchbay
