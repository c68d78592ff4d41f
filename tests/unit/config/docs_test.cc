#include <re2/re2.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "config/diagnostic_code.h"
#include "config/keys.h"
#include "config_support.h"
#include "model/snapshot.h"

namespace patchbay {
namespace {

using test::LoadGood;
using test::LoadText;

std::string Read(std::string_view path) {
  std::ifstream file(Format("{}/{}", PATCHBAY_SOURCE_DIR, path));
  EXPECT_TRUE(file) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The part of a page from one second-level heading to the next.
struct Chapter {
  std::string title;
  std::string text;
};

std::vector<Chapter> Chapters(const std::string& page) {
  std::vector<Chapter> chapters;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("## ")) {
      chapters.push_back({line.substr(3), ""});
    } else if (!chapters.empty()) {
      chapters.back().text += line + "\n";
    }
  }
  return chapters;
}

/// Returns the code blocks in TOML of a text.
std::vector<std::string> TomlBlocks(std::string_view text) {
  constexpr std::string_view kOpen = "```toml\n", kClose = "```\n";
  std::vector<std::string> blocks;
  for (auto at = text.find(kOpen); at != std::string_view::npos; at = text.find(kOpen, at)) {
    at += kOpen.size();
    const auto end = text.find(kClose, at);
    blocks.emplace_back(text.substr(at, end - at));
    at = end + kClose.size();
  }
  return blocks;
}

/// How a page shows the keys of a section: below the heading, in the lines from the first paragraph
/// that begins with `first` up to a line that begins with `next`.
struct Reference {
  std::string path;
  std::string (*heading)(std::string_view section);
  std::string_view first;
  std::string (*entries)(std::string_view section);
  std::string_view next;
};

std::string Heading(std::string_view section) {
  return section.empty() ? "## The top level\n" : Format("## `{}`\n", SectionTitle(section));
}

std::string Table(std::string_view section) {
  std::string table = "| key | type | default | meaning |\n|---|---|---|---|\n";
  for (const KeyInfo& key : KeysOf(section)) {
    const std::string fallback = key.required                ? "**required**"
                                 : key.default_value.empty() ? "–"
                                                             : Format("`{}`", key.default_value);
    table += Format("| `{}` | {} | {} | {} |\n", key.name, TypeText(key), fallback, key.meaning);
  }
  return table;
}

/// Escapes a text for scdoc.
std::string Scdoc(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '*' || c == '_' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string ManHeading(std::string_view section) {
  return Format("## {}\n", Scdoc(SectionTitle(section)));
}

std::string ManEntries(std::string_view section) {
  std::string entries;
  for (const KeyInfo& key : KeysOf(section)) {
    const std::string fallback = key.required ? "; required"
                                 : key.default_value.empty()
                                     ? ""
                                     : Format("; default {}", key.default_value);
    std::string type = TypeText(key);
    std::erase(type, '`');
    entries +=
        Format("*{}*: {}\n\t{}\n\n", Scdoc(key.name), Scdoc(type + fallback), Scdoc(key.meaning));
  }
  return entries;
}

const Reference kReferences[] = {
    {"docs/configuration.md", &Heading, "| key |", &Table, "\n"},
    {"docs/man/patchbay.toml.5.scd", &ManHeading, "*", &ManEntries, "#"},
};

/// Returns the page with the entries of the table of keys. Each section has its heading.
std::string WithKeys(const Reference& reference) {
  std::string page = Read(reference.path);
  std::set<std::string_view> sections;
  for (const KeyInfo& key : AllKeys()) sections.insert(key.section);
  for (const std::string_view section : sections) {
    const std::string heading = reference.heading(section);
    const auto at = page.find("\n" + heading);
    EXPECT_NE(at, std::string::npos) << reference.path << " needs " << heading;
    if (at == std::string::npos) continue;
    const auto begin = page.find(Format("\n\n{}", reference.first), at);
    EXPECT_NE(begin, std::string::npos) << heading << "has no entries";
    if (begin == std::string::npos) continue;
    const auto end = page.find(Format("\n{}", reference.next), begin + 2);
    page.replace(begin + 2, end + 1 - begin - 2, reference.entries(section));
  }
  return page;
}

TEST(Docs, ReferencesAreMadeFromTheTableOfKeys) {
  for (const Reference& reference : kReferences) {
    const std::string page = WithKeys(reference);
    if (std::getenv("PATCHBAY_WRITE_DOCS") != nullptr) {
      std::ofstream(Format("{}/{}", PATCHBAY_SOURCE_DIR, reference.path)) << page;
    }
    EXPECT_EQ(Read(reference.path), page) << "run PATCHBAY_WRITE_DOCS=1 unit_config";
  }
}

TEST(Docs, ExamplesOfTheReferenceLoad) {
  const auto blocks = TomlBlocks(Read("docs/configuration.md"));
  EXPECT_GE(blocks.size(), 2u);
  for (const std::string& block : blocks) LoadGood(block);
  for (const std::string& block : TomlBlocks(Read("docs/discovery.md"))) LoadGood(block);
}

TEST(Docs, MatchesPrintedByExplainLoad) {
  std::istringstream lines(Read("docs/discovery.md"));
  int matches = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  match ")) continue;
    const std::string keys = line.substr(line.find(": ") + 2);
    if (keys.find(" listed") == 1) continue;  // the answer: "1 listed, 2 filtered"
    LoadGood(Format("[[resource]]\nname = 'a.com/x'\nmatch = [{{ {} }}]\n", keys));
    ++matches;
  }
  EXPECT_GE(matches, 4);
}

TEST(Docs, DiscoveryPageExplainsEveryRejectReason) {
  const std::string page = Read("docs/discovery.md");
  for (const RejectReason reason : kAllRejectReasons) {
    EXPECT_NE(page.find(Format("| `{}` |", Name(reason))), std::string::npos) << Name(reason);
  }
}

TEST(Docs, ReferenceDocumentsEveryVariable) {
  const std::string page = Read("docs/configuration.md");
  MatchSpec match;
  match.conditions.usb.emplace();
  for (const Variable& variable : SuppliedBy(match)) {
    EXPECT_NE(page.find("`" + variable.name + "`"), std::string::npos) << variable.name;
  }
  // udev properties in hints, and other names in the examples.
  for (const std::string_view name : {"INTERFACE", "NAME"}) {
    EXPECT_NE(page.find(Format("| `{}` |", name)), std::string::npos) << name;
  }
}

TEST(Docs, DiagnosticsPageHasARowForEachCode) {
  const std::string page = Read("docs/diagnostics.md");
  std::set<std::string> titles;
  for (const Chapter& chapter : Chapters(page)) titles.insert(chapter.title);
  std::size_t at = 0;
  for (const CodeInfo& code : AllCodes()) {
    const std::string name(code.name);
    const std::string cell =
        titles.erase(name) == 0 ? Format("`{}`", name) : Format("[`{}`](#{})", name, name);
    const std::string row = Format("\n| {} | {} | {} | ", cell, Name(code.severity), code.meaning);
    const auto found = page.find(row, at);
    ASSERT_NE(found, std::string::npos) << "in this order:" << row;
    at = found;
  }
  EXPECT_TRUE(titles.empty()) << *titles.begin() << " is no code";
}

TEST(Docs, DiagnosticsPageSamplesReportTheirCode) {
  for (const Chapter& chapter : Chapters(Read("docs/diagnostics.md"))) {
    for (const std::string& block : TomlBlocks(chapter.text)) {
      const Loaded loaded = LoadText(block);
      const auto findings = loaded.diagnostics.Sorted();
      EXPECT_TRUE(std::any_of(findings.begin(), findings.end(),
                              [&](const Diagnostic& d) { return d.code == chapter.title; }))
          << chapter.title << "\n"
          << loaded.diagnostics.RenderText();
    }
  }
}

/// Returns the values of a model that have a default, as text.
std::string Shape(const Model& model) {
  const ResourceSpec& r = model.resources.at(0);
  const DaemonSpec& d = model.daemon;
  return Format("{} {} {} {} {} {} {} | {} {} {} {} {} {} {} | {} | {} {} | {}", d.listen,
                d.kubelet_dir, d.cdi_dir, d.host_root, d.rescan.count(), d.device_metrics,
                static_cast<int>(d.log_level), r.description, r.replicas, r.max_per_container,
                r.grant_group, static_cast<int>(r.preferred_allocation), r.forget_after.count(),
                r.env_separator, static_cast<int>(r.matches.at(0).type),
                r.device_nodes.at(0).permissions, r.device_nodes.at(0).optional,
                r.mounts.at(0).read_only);
}

/// Returns a document with `line` in `section`. The match has a source to which the line applies.
std::string With(std::string_view section, std::string_view line) {
  const auto in = [&](std::string_view name) { return name == section ? line : ""; };
  return Format(
      "[daemon]\n{}\n[[resource]]\nname = 'a.com/x'\n{}\n[[resource.match]]\n{}\n{}\n"
      "[[resource.device_node]]\n{}\n[[resource.mount]]\nhost_path = '/a'\n{}\n",
      in("daemon"), in("resource"),
      line.starts_with("timeout") ? "command = ['x']" : "path = '/dev/x*'", in("resource.match"),
      in("resource.device_node"), in("resource.mount"));
}

TEST(Keys, DefaultsEqualThoseOfTheModel) {
  const std::string plain = Shape(LoadGood(With("", "")));
  for (const KeyInfo& key : AllKeys()) {
    if (key.default_value.empty()) continue;
    const std::string text = With(key.section, Format("{} = {}", key.name, key.default_value));
    EXPECT_EQ(Shape(LoadGood(text)), plain) << text;
  }
}

// A fuzzer needs a long time to find keys that are not in its corpus.
TEST(Docs, ListsOfSourcesAreComplete) {
  const auto all = Read("docs/configuration.md"), man = Read("docs/man/patchbay.toml.5.scd");
  const std::string_view begin = "exactly one source: ";
  for (const std::string& page : {all, man}) {
    const auto at = page.find(begin);
    ASSERT_NE(at, std::string::npos);
    const std::string list = page.substr(at, page.find('.', at) - at);
    for (const KeyInfo& key : AllKeys()) {
      if (key.section != "resource.match" || key.alternative_group == 0) continue;
      const std::string name(key.name);
      std::string in_man = name;  // an underscore is markup in scdoc
      for (std::size_t i = 0; (i = in_man.find('_', i)) != std::string::npos; i += 2) {
        in_man.insert(i, "\\");
      }
      EXPECT_TRUE(list.find("`" + name + "`") != std::string::npos ||
                  list.find("*" + in_man + "*") != std::string::npos)
          << name << " is not in: " << list;
    }
  }
}

TEST(Keys, EachAlternativeOfAMatchIsCompiledAsItsSource) {
  for (const KeyInfo& key : KeysOf("resource.match")) {
    if (key.alternative_group == 0) continue;
    std::string example(key.example);  // in JSON
    if (const auto colon = example.find("\": "); colon != std::string::npos) {
      example.replace(colon + 1, 1, " =");
    }
    const Model model = LoadGood(test::Resource("", Format("{} = {}", key.name, example)));
    ASSERT_EQ(model.resources.size(), 1u) << key.name;
    EXPECT_EQ(model.resources[0].matches.size(), 1u) << key.name;
  }
}

TEST(Keys, EmptyListsOfAMatchAreErrorsIfTheSchemaSaysSo) {
  for (const KeyInfo& key : AllKeys()) {
    const bool is_list = key.type == ValueType::kStringOrStrings || key.type == ValueType::kStrings;
    if (key.section != "resource.match" || !key.non_empty || !is_list) continue;
    const std::string source = key.alternative_group == 1 ? "" : "path = '/dev/x*'\n";
    const Loaded loaded = LoadText(test::Resource("", Format("{}{} = []", source, key.name)));
    EXPECT_TRUE(loaded.diagnostics.HasErrors()) << key.name;
  }
}

TEST(Keys, FuzzerCorpusContainsEveryKey) {
  std::string seeds;
  for (const char* directory : {"tests/fuzz/corpus/config", "examples/configs"}) {
    const auto path = Format("{}/{}", PATCHBAY_SOURCE_DIR, directory);
    for (const auto& file : std::filesystem::directory_iterator(path)) {
      seeds += Read(Format("{}/{}", directory, file.path().filename().string())) + "\n";
    }
  }
  for (const KeyInfo& key : AllKeys()) {
    const bool table = key.type == ValueType::kTable || key.type == ValueType::kTables ||
                       key.type == ValueType::kTemplateTable;
    const std::string section =
        Format("{}{}{}", key.section, key.section.empty() ? "" : ".", key.name);
    const RE2 wanted(table ? "\\[" + RE2::QuoteMeta(section) : Format("\\b{} *= ", key.name));
    EXPECT_TRUE(RE2::PartialMatch(seeds, wanted))
        << "add \"" << section << "\" to a file in tests/fuzz/corpus/config";
  }
}

TEST(Keys, ReferToOtherKeysThatExist) {
  for (const KeyInfo& key : AllKeys()) {
    const bool is_section = key.type == ValueType::kTable || key.type == ValueType::kTables;
    EXPECT_EQ(!KeysOf(key.table).empty() && !key.table.empty(), is_section) << key.name;
    for (const std::string_view names : {key.needs, key.excludes}) {
      for (const std::string_view name : Words(names)) {
        EXPECT_NE(FindKey(KeysOf(key.section), name), nullptr) << key.name << ": " << name;
      }
    }
  }
}

TEST(Keys, HaveAUniqueNameAndADescription) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const KeyInfo& key : AllKeys()) {
    EXPECT_TRUE(seen.emplace(key.section, key.name).second) << key.name;
    EXPECT_FALSE(key.meaning.empty() || key.meaning.ends_with('.')) << key.name;
    EXPECT_TRUE(key.default_value.empty() || !key.required) << key.name;
  }
}

}  // namespace
}  // namespace patchbay
