#include "cli/yaml.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace patchbay {
namespace {

using OrderedJson = nlohmann::ordered_json;

TEST(Yaml, PrintsNestedCollections) {
  const OrderedJson json =
      OrderedJson::parse(R"({"resources": [{"name": "a", "ids": ["x", "y"], "none": [],
      "env": {}, "deep": {"list": [[1, 2], [], [[3]]]}}, {"name": "b"}], "left": null, "ok": true})");
  EXPECT_EQ(YamlText(json),
            "resources:\n"
            "  - name: a\n"
            "    ids:\n"
            "      - x\n"
            "      - \"y\"\n"
            "    none: []\n"
            "    env: {}\n"
            "    deep:\n"
            "      list:\n"
            "        - - 1\n"
            "          - 2\n"
            "        - []\n"
            "        - - - 3\n"
            "  - name: b\n"
            "left: null\n"
            "ok: true\n");
  EXPECT_EQ(YamlText(OrderedJson::array()), "[]\n");
  EXPECT_EQ(YamlText(OrderedJson::object()), "{}\n");
}

TEST(Yaml, QuotesTextUnlessItIsAWord) {
  const auto text = [](const std::string& value) { return YamlText(OrderedJson{{"k", value}}); };
  EXPECT_EQ(text("resource.k8s.io/v1"), "k: resource.k8s.io/v1\n");
  EXPECT_EQ(text("/dev/x0.1"), "k: /dev/x0.1\n");
  EXPECT_EQ(text("Device-Class_2"), "k: Device-Class_2\n");
  for (const char* type : {"true", "False", "NULL", "y", "N", "Off"}) {
    EXPECT_EQ(text(type), "k: \"" + std::string(type) + "\"\n");
  }
  for (const char* other :
       {"", "-a", ".nan", "_a", "a:", "a #b", "a,b", "[a", "*a", "&a", "!a", "~"}) {
    EXPECT_EQ(text(other), "k: \"" + std::string(other) + "\"\n");
  }
  EXPECT_EQ(text("no"), "k: \"no\"\n");
  EXPECT_EQ(text("1"), "k: \"1\"\n");
  EXPECT_EQ(text("a: b # c"), "k: \"a: b # c\"\n");
  EXPECT_EQ(text("\"\\"), R"(k: "\"\\")"
                          "\n");
  EXPECT_EQ(text("a\nb\x1b\t"), R"(k: "a\nb\u001b\u0009")"
                                "\n");
  EXPECT_EQ(text("\xff"), "k: \"\xEF\xBF\xBD\"\n");
  EXPECT_EQ(text("Ger\xC3\xA4t"), "k: \"Ger\xC3\xA4t\"\n");
  EXPECT_EQ(text("\xE2\x80\xA8"), R"(k: "\u2028")"
                                  "\n")
      << "a line separator";
  EXPECT_EQ(text("\xF3\xA0\x80\x81\\ud"), R"(k: "\U000e0001\\ud")"
                                          "\n")
      << "YAML has no surrogates";
  EXPECT_EQ(text("\\ud800\\udc00"), R"(k: "\\ud800\\udc00")"
                                    "\n")
      << "text, not an escape";
}

TEST(Yaml, QuotesKeysThatAreNotNames) {
  const OrderedJson json = {{"plain_1", 1}, {"Yes", 1}, {"n", 1}, {"a b", 1},
                            {"1", 1},       {"", 1},    {"-", 1}};
  EXPECT_EQ(YamlText(json),
            "plain_1: 1\n\"Yes\": 1\n\"n\": 1\n\"a b\": 1\n\"1\": 1\n\"\": 1\n\"-\": 1\n");
}

TEST(Yaml, PrintsNumbersThatEveryVersionReads) {
  EXPECT_EQ(YamlText(OrderedJson{{"k", 1e-5}}), "k: 1.0e-05\n");
  EXPECT_EQ(YamlText(OrderedJson{{"k", 0.25}}), "k: 0.25\n");
  EXPECT_EQ(YamlText(OrderedJson{{"k", -3}}), "k: -3\n");
}

}  // namespace
}  // namespace patchbay
