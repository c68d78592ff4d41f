#include "config/load.h"

#include <algorithm>
#include <iterator>

#include "base/format.h"
#include "config/overlap.h"
#include "config/section.h"
#include "config/source_files.h"
#include "config/toml_reader.h"
#include "config/validate.h"

namespace patchbay {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// Parses one text and adds its entries to the document, which is cut if it is too large or not
/// TOML.
void AddSource(SourceFile source, Reporter& reporter, Diagnostics& diagnostics,
               TomlTable& document) {
  if (source.text.size() > kLargestSource) {
    reporter.Report(Code::kUnreadableFile, {source.name, 0, 0},
                    Format("the file is larger than {} bytes", kLargestSource),
                    "split it: all files of a directory form one document");
    document.is_cut = true;
    return;
  }
  if (source.text.starts_with(kByteOrderMark)) source.text.erase(0, kByteOrderMark.size());
  TomlTable table = ReadToml(source, reporter);
  diagnostics.AddSource(std::move(source.name), std::move(source.text));
  std::ranges::move(table.entries, std::back_inserter(document.entries));
  document.is_cut = document.is_cut || table.is_cut;
}

void Load(std::vector<SourceFile> sources, const std::string& node, Reporter& reporter,
          Loaded& loaded) {
  TomlTable table;
  table.is_cut = sources.empty();  // the reason is already reported
  const SourceLocation place{sources.empty() ? "" : sources.back().name, 0, 0};
  for (SourceFile& source : sources) {
    AddSource(std::move(source), reporter, loaded.diagnostics, table);
  }
  const Section document(KeyInfo(), table, place, reporter);
  if (!document.is_broken() && !document.Has("resource")) {
    reporter.Report(Code::kNoResources, place, "the configuration has no resource",
                    "write [[resource]] with a name and a [[resource.match]]; patchbay suggest "
                    "prints entries for the devices of a host");
  }
  Model model = Validate(document, node, reporter);
  if (loaded.diagnostics.HasErrors()) return;
  WarnOfSharedNodes(document, model, reporter);
  loaded.model = std::move(model);
}

}  // namespace

Loaded LoadPaths(const std::vector<std::string>& paths, const std::string& node) {
  Loaded loaded;
  Reporter reporter(loaded.diagnostics);
  SourceFiles sources = ReadSources(paths, reporter);
  loaded.is_being_written = sources.are_being_written;
  Load(std::move(sources.files), node, reporter, loaded);
  return loaded;
}

Loaded LoadTexts(std::vector<SourceFile> sources, const std::string& node) {
  Loaded loaded;
  Reporter reporter(loaded.diagnostics);
  Load(std::move(sources), node, reporter, loaded);
  return loaded;
}

}  // namespace patchbay
