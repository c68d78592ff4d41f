#include "config/dra.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/escape.h"
#include "base/format.h"
#include "base/path.h"
#include "model/driver_name.h"
#include "model/template_shape.h"
#include "model/validators.h"

namespace patchbay {
namespace {

/// The attributes that every device has: `resource` and `id`.
constexpr std::size_t kAutomaticAttributes = 2;

void CheckNumber(const SourceLocation& place, const ResourceSpec& spec, Reporter& reporter) {
  const std::size_t slots = spec.replicas > 1 ? 1 : 0;
  const std::size_t max = kMaxAttributes - kAutomaticAttributes - slots;
  if (spec.attributes.size() <= max) return;
  reporter.Report(Code::kBadValue, place,
                  Format("there are {} attributes, and the API server accepts {} besides those "
                         "that Patchbay sets",
                         spec.attributes.size(), max),
                  "remove attributes that no claim uses");
}

void CompileAttribute(const AttributeText& pair, const DaemonSpec& daemon, const Scope& scope,
                      Reporter& reporter, ResourceSpec& spec) {
  auto problem = ProblemWithAttributeName(pair.name.value, daemon.dra_driver);
  if (problem) {
    reporter.Report(Code::kBadValue, pair.name.place,
                    Format("\"{}\": {}", Truncate(pair.name.value, 100), *problem),
                    "as in model = \"{ID_MODEL}\"");
  }
  auto value = CompileTemplate(pair.value, scope, reporter);
  if (!value || problem) return;
  if (value->fields().empty()) {
    const auto text = value->Render(Variables());
    const auto parsed = text ? ParseAttribute(pair.type, *text) : Failure(text.error());
    if (!parsed) {
      const bool is_long = text && text->size() > kMaxAttributeText;
      return reporter.Report(
          Code::kBadValue, pair.value.place, parsed.error().message,
          is_long ? "shorten it" : "write a value of this type, or use a variable");
    }
  }
  spec.attributes.push_back({pair.name.value, pair.type, *std::move(value)});
}

void CompileCluster(const Section& section, Reporter& reporter, DaemonSpec& spec) {
  ClusterSettings& settings = spec.kubernetes.emplace();
  section.Read("server", settings.server);
  section.Read("ca", settings.ca);
  section.Read("token_file", settings.token_file);
  section.Read("client_certificate", settings.client_certificate);
  section.Read("client_key", settings.client_key);
  const auto config = CheckCluster(settings);
  if (config) return;
  for (const ClusterProblem& problem : config.error()) {
    if (!section.Has(problem.key)) continue;  // reported as missing
    reporter.Report(Code::kBadValue, section.PlaceOf(problem.key), problem.message, problem.hint);
  }
}

}  // namespace

void CompileDraDaemon(const Section& daemon, Reporter& reporter, DaemonSpec& spec) {
  const Section* dra = daemon.GetSection("dra");
  if (dra != nullptr) dra->Read("device_metadata", spec.device_metadata);
  if (dra != nullptr && dra->Has("driver")) {
    dra->Read("driver", spec.dra_driver);
    if (const Status valid = CheckDriverName(spec.dra_driver); !valid) {
      reporter.Report(Code::kBadValue, dra->PlaceOf("driver"), valid.error().message,
                      "as in driver = \"patchbay.dev\"");
    }
    const std::size_t both = spec.dra_driver.size() + DirectoryOf(spec.kubelet_dir).size();
    if (both > kMaxDriverAndRoot && spec.kubelet_dir.size() <= kMaxKubeletDir) {
      reporter.Report(
          Code::kBadValue, dra->PlaceOf("driver"),
          Format("the driver name and the directory of kubelet_dir have {} bytes together, which "
                 "makes socket paths longer than {}",
                 both, kMaxSocketPath),
          Format("they are limited to {} bytes together; choose a shorter name",
                 kMaxDriverAndRoot));
    }
  }
  if (const Section* kubernetes = daemon.GetSection("kubernetes")) {
    CompileCluster(*kubernetes, reporter, spec);
  }
}

void CompileDraKeys(const Section& resource, const DaemonSpec& daemon, const Scope& devices,
                    Reporter& reporter, ResourceSpec& spec) {
  resource.Read("on_unhealthy", spec.on_unhealthy);
  for (const Text& prefix : resource.GetTexts("claim_env")) {
    if (const auto problem = ProblemWithEnvName(LiteralShape(prefix.value))) {
      reporter.Report(
          Code::kBadValue, prefix.place,
          Format("claim_env has the beginning of a name of a variable: {}", problem->message),
          "as in [\"BAUD_\"]; a whole name works too");
    } else {
      spec.claim_env.push_back(prefix.value);
    }
  }
  for (const AttributeText& attribute : resource.GetAttributes("attributes")) {
    CompileAttribute(attribute, daemon, devices, reporter, spec);
  }
  CheckNumber(resource.PlaceOf("attributes"), spec, reporter);
  if (spec.api == Api::kDra && spec.name.size() > kMaxAttributeText) {
    reporter.Report(
        Code::kBadValue, resource.PlaceOf("name"),
        Format("with api = \"dra\", a resource name is limited to {} bytes", kMaxAttributeText),
        "device classes select by the name; choose a shorter one");
  }
}

void WarnOfKeysOfTheOtherApi(const Section& resource, const ResourceSpec& spec,
                             Reporter& reporter) {
  struct KeyOfApi {
    std::string_view key;
    Api api;
    bool is_default = false;  ///< with a value that has no effect with either API
  };
  const KeyOfApi keys[] = {
      {"on_unhealthy", Api::kDra, spec.on_unhealthy == OnUnhealthy()},
      {"claim_env", Api::kDra},
      {"attributes", Api::kDra},
      {"preferred_allocation", Api::kDevicePlugin, spec.preferred_allocation == Preference()},
      {"topology", Api::kDevicePlugin},
      {"annotations", Api::kDevicePlugin},
      {"forget_after", Api::kDevicePlugin},
  };
  const auto name = [](Api api) { return kApiNames[static_cast<std::size_t>(api)]; };
  for (const auto& [key, api, is_default] : keys) {
    if (is_default || api == spec.api || !resource.Has(key)) continue;
    reporter.Report(Code::kNoEffect, resource.PlaceOf(key),
                    Format("\"{}\" has no effect with api = \"{}\"", key, name(spec.api)),
                    Format("remove it, or set api = \"{}\"", name(api)));
  }
}

}  // namespace patchbay
