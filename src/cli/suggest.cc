#include "suggest/suggest.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/escape.h"
#include "base/format.h"
#include "cli/commands.h"
#include "cli/load.h"
#include "cli/run_scan.h"
#include "cli/yaml.h"

namespace patchbay {
namespace {

/// Returns the path of a word or directory of this process on the host.
std::string OnHost(const std::string& path, const std::string& root) {
  return root != "/" && (path + "/").starts_with(root + "/") ? path.substr(root.size()) : path;
}

/// Returns values for the Helm chart with a configuration, which is printable.
std::string ChartValues(const std::string& toml) {
  std::string values = "# Values for the Helm chart of Patchbay.\nconfig: |\n";
  for (std::size_t start = 0; start < toml.size();) {
    const std::size_t end = toml.find('\n', start) + 1;
    values += (end == start + 1 ? "" : "  ") + toml.substr(start, end - start);
    start = end;
  }
  return values;
}

void ReportUnknown(const UnknownDevice& unknown, Streams streams) {
  streams.err << Format("\"{}\" is not a device of this host: {}{}{}\n",
                        Truncate(unknown.word, 200), unknown.why,
                        unknown.similar.empty() ? "" : "; similar: ",
                        Printable(Format("{}", fmt::join(unknown.similar, ", "))));
}

}  // namespace

int RunSuggest(const Arguments& arguments, Streams streams) {
  std::optional<Model> model;
  std::error_code none;
  if (arguments.is_config_given || std::filesystem::exists(arguments.config, none)) {
    model = LoadOrReport(arguments, streams);
    if (!model && arguments.is_config_given) return kFailed;
  }
  const std::string root =
      arguments.host_root.value_or(model ? model->daemon.host_root : std::string("/"));
  SuggestRequest request;
  for (const std::string& word : arguments.devices) request.devices.push_back(OnHost(word, root));
  request.directory = OnHost(std::filesystem::current_path(none), root) + "/";
  if (model) {
    const auto inspections = RunScan(*model, {.node_name = NodeName()});
    if (!inspections) return ReportFailure(inspections.error(), streams);
    for (const Inspection& inspection : *inspections) {
      AddServed(*inspection.snapshot, request.served);
    }
  }
  const Suggestions suggestions = Suggest(HostRoot(root), request);
  for (const UnknownDevice& unknown : suggestions.unknown) ReportUnknown(unknown, streams);
  if (!suggestions.unknown.empty()) {
    streams.err << "name a device node or a link to one, a path in /sys, a USB or PCI ID "
                   "(1a86:7523), a USB port (1-1.2), a PCI address (0000:3b:00.0), or a name "
                   "(ttyUSB0, can0); `patchbay suggest` without one lists all\n"
                   "Run `patchbay suggest --help` for more information.\n";
    return ExitCode::kUsage;  // device_classes.cc has another one
  }
  if (suggestions.used_disks > 0) {
    streams.err << Format("left out: {} disk{} that the host uses, or that are part of an array\n",
                          suggestions.used_disks, suggestions.used_disks == 1 ? "" : "s");
  }
  const bool is_json = arguments.suggest_output == SuggestOutput::kJson;
  const std::string text = SuggestionsToml(suggestions);
  if (is_json) streams.out << ObjectText(SuggestionsJson(suggestions), Output::kJson);
  if (is_json || text.empty()) {
    // The first note is for the head of a file.
    for (std::size_t i = 1; i < suggestions.notes.size(); ++i) {
      streams.err << Printable(suggestions.notes[i]) << "\n";
    }
    if (!text.empty()) return kOk;
    streams.err << "this host has no device that containers use\n";
    return kFailed;
  }
  streams.out << (arguments.suggest_output == SuggestOutput::kHelm ? ChartValues(text) : text);
  return kOk;
}

}  // namespace patchbay
