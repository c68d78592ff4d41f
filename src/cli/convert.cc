#include "convert/convert.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <system_error>

#include "base/format.h"
#include "cli/commands.h"
#include "cli/load.h"
#include "os/file_text.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostSeen = 100'000;
constexpr int kDeepestSeen = 10;  // as far as smarter-device-manager looks

Result<SourceFile> ReadForeignFile(const std::string& name) {
  if (name == "-") {
    SourceFile source{"stdin", std::string(kLargestSource + 1, '\0')};
    std::cin.read(source.text.data(), static_cast<std::streamsize>(source.text.size()));
    source.text.resize(static_cast<std::size_t>(std::cin.gcount()));
    return source;
  }
  auto file = ReadFileText(name, kLargestSource);
  if (!file) return Fail(file.error().kind, format("{}: {}", name, file.error().message));
  return SourceFile{name, std::move(file->text)};
}

/// What there is below a /dev, links and directories included. Links are not followed, so that it
/// comes to an end; other file systems, such as /dev/shm, are not devices.
std::vector<SeenName> LookAt(const fs::path& dev, std::error_code& error) {
  std::vector<SeenName> seen;
  fs::recursive_directory_iterator entry(dev, fs::directory_options::skip_permission_denied, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (entry.depth() >= kDeepestSeen) entry.disable_recursion_pending();
    std::error_code unknown;
    const bool is_directory = entry->is_directory(unknown);
    seen.push_back({entry->path().string().substr(dev.string().size() + 1), is_directory});
    if (seen.size() >= kMostSeen) break;
  }
  std::sort(seen.begin(), seen.end(),
            [](const SeenName& a, const SeenName& b) { return a.name < b.name; });
  return seen;
}

}  // namespace

int RunConvert(const Arguments& arguments, Streams streams) {
  const auto source = ReadForeignFile(arguments.files.front());
  if (!source) return ReportFailure(source.error(), streams);
  ConvertHints hints{arguments.domain, std::nullopt};
  if (arguments.host_root) {
    const fs::path dev = fs::path(*arguments.host_root) / "dev";
    std::error_code error;
    hints.dev = LookAt(dev, error);
    if (error) {
      return ReportFailure(
          {ErrorKind::kUnavailable, format("cannot look at {}: {}", dev.string(), error.message())},
          streams);
    }
  }
  const Conversion conversion = Convert(arguments.from, *source, hints);
  streams.err << conversion.diagnostics.RenderText();
  if (!conversion.toml) return kFailed;
  streams.out << *conversion.toml;
  return kOk;
}

}  // namespace patchbay
