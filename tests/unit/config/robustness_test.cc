#include <gmock/gmock.h>

#include <random>

#include "base/format.h"
#include "config_support.h"

namespace patchbay {
namespace {

using test::LoadText;
using test::Resource;
using testing::Contains;
using testing::IsEmpty;

/// Checks that loading returns either a model or an error. Sanitizers and the test timeout detect
/// all other problems.
void Survives(std::string_view text) {
  const Loaded loaded = LoadText(text);
  EXPECT_EQ(loaded.model.has_value(), !loaded.diagnostics.HasErrors());
  loaded.diagnostics.RenderText();
}

std::string Repeated(std::string_view part, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += part;
  return text;
}

TEST(Robustness, HandlesInputThatBreaksTheParser) {
  using std::string_literals::operator""s;
  const std::string texts[] = {
      "",
      "\xEF\xBB\xBF",
      "\xEF\xBB\xBF\xEF\xBB\xBF",
      "[=",
      "[\0"s,
      "a = \"\0\""s,
      "\0"s,
      "a = '''",
      "a = \"\\",
      "a = \"\"\"\\",
      "a = \"\\uD800\"",
      "'",
      "\r",
      "[[",
      "]]",
      "[[resource]]\n[resource]",
      "\xEF\xAD\xA6",
      "\xEF\xBB\xBE = 1",
      "a.\xEF\xBB\xBE = 1",
      "a = \xEF\xBB\xBE",
      "[\xEF\xBB\xBE]",
      "# \xEF\xBB\xBE\n",
      "resource = 1",
      "resource = [[[]]]",
      "daemon = [{}]",
      "a=" + Repeated("[", 300) + Repeated("]", 300),
      "a=" + Repeated("{a=", 300) + "1" + Repeated("}", 300),
      "a=" + Repeated("[\n", 255) + Repeated("{a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p=[\n", 255),
      Repeated("[", 100000),
      "[" + Repeated("a.", 100000) + "a]",
      Repeated("a.", 100000) + "a = 1",
      std::string(kLargestSource, 'a'),
      std::string(kLargestSource, '\''),
      std::string(kLargestSource, '#'),
      "a = [" + Repeated("1,", 200000) + "]",
      "a = '" + Repeated("é", 200000) + "' x",
      Repeated("[[resource]]\n", 50000),
      Resource("[resource.env]\n" + Repeated("x", 100000) + " = '" + Repeated("{a}", 30000) + "'"),
      Resource("", "path = '/" + Repeated("{a,b}", 5000) + "'"),
      Resource("", "path = '/" + Repeated("{", 5000) + Repeated("}", 5000) + "'"),
      Resource("", "regex = '/" + Repeated("(", 5000) + Repeated(")", 5000) + "'"),
      Resource("", "regex = '/(((a{1000}){1000}){1000}){1000}'"),
      Resource("", "path = [" + Repeated("'/a','/b*',", 20000) + "]"),
      Resource("[[resource.mount]]\nhost_path = '/{name:2147483647}'"),
      Resource("[[resource.mount]]\nhost_path = '/{name:99999999999999999999}'"),
  };
  for (const std::string& text : texts) Survives(text);
}

TEST(Robustness, PatternsOfAllEntriesShareOneBudget) {
  const auto errors = [](int resources, const std::string& match) {
    std::string text;
    for (int i = 0; i < resources; ++i) {
      text += Format("[[resource]]\nname = 'a.com/r{}'\n  [[resource.match]]\n  {}\n", i, match);
    }
    std::vector<std::string> found;
    for (const Diagnostic& diagnostic : LoadText(text).diagnostics.Sorted()) {
      if (diagnostic.message.find("too much memory") == std::string::npos) continue;
      found.push_back(Format("{}:{}", diagnostic.place.line, diagnostic.code));
    }
    return found;
  };
  EXPECT_THAT(errors(1000, "regex = '/dev/tty(USB|ACM)\\d+'"), IsEmpty());
  const std::string large = "regex = '/dev/.{1,200}'";
  EXPECT_THAT(errors(40, large), IsEmpty());
  EXPECT_THAT(errors(60, large), Contains("240:bad-pattern"));
  const std::string deep =
      "path = '/dev/{" + Repeated("a,", 63) + "b}" + Repeated("/a", 1900) + "'";
  EXPECT_THAT(errors(1, deep), IsEmpty());
  EXPECT_THAT(errors(20, deep), Contains("80:bad-pattern"));
}

TEST(Robustness, HandlesCorruptFiles) {
  using std::string_view_literals::operator""sv;
  const std::string good = "[daemon]\nlisten = \"[::]:9478\"\nrescan = \"5s\"\n" +
                           Resource(
                               "[[resource.device_node]]\ncontainer_path = \"/dev/{name:>4}\"\n"
                               "[resource.env]\n'A_{slot}' = \"{path}\"\n",
                               "regex = '/dev/(?P<card>[a-z]+)'\nid = '{card}'");
  std::mt19937 random(1);
  const auto below = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
  };
  constexpr auto kBytes = "[]{}()\"'\\=.,#\n\0\xff\xc3\xa9*?:/0z"sv;
  for (int round = 0; round < 3000; ++round) {
    std::string text = good;
    for (std::size_t change = 0; change <= below(4); ++change) {
      const std::size_t at = below(text.size());
      switch (below(3)) {
        case 0: text[at] = kBytes[below(kBytes.size())]; break;
        case 1: text.erase(at, 1 + below(8)); break;
        default: text.insert(at, text.substr(below(text.size()), below(12)));
      }
      if (text.empty()) text = good;
    }
    Survives(text);
  }
}

}  // namespace
}  // namespace patchbay
