#include "convert/convert.h"

#include <ostream>
#include <utility>

#include "base/format.h"
#include "cli/commands.h"
#include "cli/list_dev.h"
#include "cli/load.h"
#include "os/read_file.h"

namespace patchbay {
namespace {

constexpr std::size_t kMaxNames = 100'000;

Result<SourceFile> ReadForeignFile(const std::string& name) {
  if (name == kStandardInput) return ReadStandardInput();
  auto file = ReadFileContent(name, kLargestSource);
  if (!file) return Fail(file.error().kind, Format("{}: {}", name, file.error().message));
  return SourceFile{name, std::move(file->text)};
}

}  // namespace

int RunConvert(const Arguments& arguments, Streams streams) {
  const auto source = ReadForeignFile(arguments.files.front());
  if (!source) return ReportFailure(source.error(), streams);
  ConvertHints hints{arguments.domain, std::nullopt, arguments.converts_to_helm};
  if (arguments.host_root) {
    Diagnostics diagnostics;
    Findings findings(diagnostics);
    auto names = ListDev(HostRoot(*arguments.host_root), kMaxNames, findings);
    if (!names) {
      return ReportFailure({names.error().kind, Format("--host-root {}: {}", *arguments.host_root,
                                                       names.error().message)},
                           streams);
    }
    hints.dev = std::move(*names);
    streams.err << diagnostics.RenderText(streams.colors_err);
  }
  const Conversion conversion = Convert(arguments.from, *source, hints);
  streams.err << conversion.diagnostics.RenderText(streams.colors_err);
  if (conversion.text) streams.out << *conversion.text;
  return conversion.diagnostics.HasErrors() ? kFailed : kOk;
}

}  // namespace patchbay
