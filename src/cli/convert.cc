#include "convert/convert.h"

#include <iostream>
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
  if (name == "-") {
    SourceFile source{"stdin", std::string(kLargestSource + 1, '\0')};
    std::cin.read(source.text.data(), static_cast<std::streamsize>(source.text.size()));
    source.text.resize(static_cast<std::size_t>(std::cin.gcount()));
    return source;
  }
  auto file = ReadFileContent(name, kLargestSource);
  if (!file) return Fail(file.error().kind, format("{}: {}", name, file.error().message));
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
      return ReportFailure({names.error().kind, format("--host-root {}: {}", *arguments.host_root,
                                                       names.error().message)},
                           streams);
    }
    hints.dev = std::move(*names);
    streams.err << diagnostics.RenderText();
  }
  const Conversion conversion = Convert(arguments.from, *source, hints);
  streams.err << conversion.diagnostics.RenderText();
  const auto& text = hints.needs_helm ? conversion.helm : conversion.toml;
  if (text) streams.out << *text;
  return conversion.diagnostics.HasErrors() ? kFailed : kOk;
}

}  // namespace patchbay
