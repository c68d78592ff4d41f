#include "cli/load.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "base/escape.h"
#include "base/format.h"
#include "model/validators.h"

namespace patchbay {
namespace {

void ApplyFlags(const Arguments& arguments, DaemonSpec& daemon) {
  if (arguments.host_root) daemon.host_root = *arguments.host_root;
  if (arguments.listen) daemon.listen = *arguments.listen;
  if (arguments.log_level) daemon.log_level = *arguments.log_level;
  if (arguments.kubelet_dir) daemon.kubelet_dir = *arguments.kubelet_dir;
}

}  // namespace

Loaded WithFlags(Loaded loaded, const Arguments& arguments) {
  if (loaded.model) ApplyFlags(arguments, loaded.model->daemon);
  return loaded;
}

Loaded LoadConfig(const Arguments& arguments) {
  return WithFlags(LoadPaths({arguments.config}, NodeName()), arguments);
}

Status CheckHostRoot(const DaemonSpec& daemon) {
  std::error_code none;
  if (std::filesystem::is_directory(daemon.host_root, none)) return {};
  return Fail(ErrorKind::kNotFound,
              Format("host_root = \"{}\" is not a directory here; set the root of this machine "
                     "with --host-root, as in --host-root /",
                     daemon.host_root));
}

std::optional<Model> LoadOrReport(const Arguments& arguments, Streams streams) {
  Loaded loaded = LoadConfig(arguments);
  streams.err << BriefDiagnostics(loaded.diagnostics, arguments.config, streams.colors_err);
  if (!loaded.model) return std::nullopt;
  if (const Status is_there = CheckHostRoot(loaded.model->daemon); !is_there) {
    ReportFailure(is_there.error(), streams);
    return std::nullopt;
  }
  return std::move(loaded.model);
}

std::string HintCommand(const Arguments& arguments, std::string_view command,
                        const std::vector<std::string>& rest) {
  std::string line = Format("patchbay {}", command);
  if (arguments.config != kDefaultConfig) line += " --config " + QuoteShell(arguments.config);
  if (arguments.host_root) line += " --host-root " + QuoteShell(*arguments.host_root);
  for (const std::string& word : rest) line += " " + QuoteShell(word);
  return Printable(line);
}

std::string BriefDiagnostics(const Diagnostics& diagnostics, const std::string& config,
                             bool colored) {
  std::string text = diagnostics.RenderErrors(colored);
  if (const std::size_t warnings = diagnostics.WarningCount(); warnings > 0) {
    text += Format(
        "patchbay: the configuration has {} warning{}; run `patchbay check --config {}` to see "
        "{}\n",
        warnings, warnings == 1 ? "" : "s", Printable(QuoteShell(config)),
        warnings == 1 ? "it" : "them");
  }
  return text;
}

Result<SourceFile> ReadStandardInput() {
  SourceFile source{"<stdin>", std::string(kLargestSource + 1, '\0')};
  std::cin.read(source.text.data(), static_cast<std::streamsize>(source.text.size()));
  // The stream does not distinguish an error from the end; stdio, which it reads, does.
  if (std::ferror(stdin) != 0) {
    return FailErrno("<stdin> cannot be read", errno);
  }
  source.text.resize(static_cast<std::size_t>(std::cin.gcount()));
  return source;
}

ExitCode ReportFailure(const Error& error, Streams streams) {
  streams.err << "patchbay: " << Printable(error.message) << "\n";
  return kFailed;
}

std::string EnvironmentValue(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string NodeName() {
  if (std::string name = EnvironmentValue("NODE_NAME"); !name.empty()) return name;
  std::array<char, 256> buffer{};
  if (gethostname(buffer.data(), buffer.size() - 1) != 0) return "localhost";
  return buffer.data();
}

std::vector<std::string> NodeAddresses() {
  std::vector<std::string> addresses;
  std::istringstream list(EnvironmentValue("NODE_IPS"));
  for (std::string address; std::getline(list, address, ',');) {
    if (AddressVersion(address) != 0) addresses.push_back(address);
  }
  return addresses;
}

}  // namespace patchbay
