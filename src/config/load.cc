#include "config/load.h"

#include "base/format.h"
#include "config/decode.h"
#include "config/overlap.h"
#include "config/reporter.h"
#include "config/source_files.h"
#include "config/toml_reader.h"
#include "config/validate.h"

namespace patchbay {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// Parses one text and adds it to the document. Returns false if it is too large or not TOML.
bool AddSource(SourceFile source, Reporter& reporter, Diagnostics& diagnostics,
               DocumentDraft& document) {
  const SourceLocation whole{source.name, 0, 0};
  if (source.text.size() > kLargestSource) {
    reporter.Report(Code::kFileTooLarge, whole,
                    Format("the file is larger than {} bytes", kLargestSource),
                    "split it: all files of a directory form one document");
    return false;
  }
  if (source.text.starts_with(kByteOrderMark)) source.text.erase(0, kByteOrderMark.size());
  const auto table = ReadToml(source, reporter);
  diagnostics.AddSource(std::move(source.name), std::move(source.text));
  return table && DecodeSection(*table, whole, document, reporter);
}

void Load(std::vector<SourceFile> sources, const std::string& node, Reporter& reporter,
          Loaded& loaded) {
  DocumentDraft document;
  for (SourceFile& source : sources) {
    if (!AddSource(std::move(source), reporter, loaded.diagnostics, document)) {
      document.broken = true;
    }
  }
  if (sources.empty()) document.broken = true;  // the reason is already reported
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
