#include "config/dra.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/escape.h"
#include "base/format.h"
#include "base/path.h"
#include "config/toml_text.h"
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
  const std::size_t number = spec.attributes.size() + spec.capacity.size();
  if (number <= max) return;
  reporter.Report(Code::kBadValue, place,
                  Format("there are {} attributes{}, and the API server accepts {} besides those "
                         "that Patchbay sets",
                         number, spec.capacity.empty() ? "" : " and capacities together", max),
                  "remove those that no claim uses");
}

/// Reports a problem with a name; returns whether there is none.
bool CheckName(const Text& name, const std::optional<std::string>& problem,
               std::string_view example, Reporter& reporter) {
  if (!problem) return true;
  reporter.Report(Code::kBadValue, name.place,
                  Format("\"{}\": {}", Truncate(name.value, 100), *problem),
                  Format("as in {}", example));
  return false;
}

/// Returns what a template without variables renders; nothing for another one.
std::optional<Result<std::string>> LiteralOf(const Template& value) {
  return value.fields().empty() ? std::optional(value.Render(Variables())) : std::nullopt;
}

void CompileAttribute(const AttributeText& pair, const DaemonSpec& daemon, const Scope& scope,
                      Reporter& reporter, ResourceSpec& spec) {
  const auto problem = ProblemWithAttributeName(pair.name.value, daemon.dra_driver);
  const bool has_name = CheckName(pair.name, problem, "model = \"{ID_MODEL}\"", reporter);
  auto value = CompileTemplate(pair.value, scope, reporter);
  if (!value || !has_name) return;
  if (const auto text = LiteralOf(*value)) {
    const auto parsed = *text ? ParseAttribute(pair.type, **text) : Failure(text->error());
    if (!parsed) {
      const bool is_long = *text && (*text)->size() > kMaxAttributeText;
      return reporter.Report(
          Code::kBadValue, pair.value.place, parsed.error().message,
          is_long ? "shorten it" : "write a value of this type, or use a variable");
    }
  }
  spec.attributes.push_back({pair.name.value, pair.type, *std::move(value)});
}

/// Reads the shares of a capacity into `capacity`; returns whether they are valid.
bool CompileShares(const CapacityText& entry, const ResourceSpec& spec, Reporter& reporter,
                   CapacitySpec& capacity) {
  const Text& value = entry.parts.at(kCapacityKeys[0]);
  const std::pair<std::string_view, std::optional<Quantity>&> shares[] = {
      {kCapacityKeys[1], capacity.by_default},
      {kCapacityKeys[2], capacity.max},
      {kCapacityKeys[3], capacity.step}};
  for (const auto& [key, share] : shares) {
    const auto part = entry.parts.find(key);
    if (part == entry.parts.end()) continue;
    share = ParseQuantity(part->second.value);
    if (share && *share >= 0) continue;
    reporter.Report(Code::kBadValue, part->second.place,
                    Format("\"{}\" is not a quantity", Truncate(part->second.value, 80)),
                    Format("as in {} = \"1Gi\"; it cannot have variables", key));
    return false;
  }
  if (const auto problem = ProblemWithShares(capacity)) {
    reporter.Report(Code::kBadValue, value.place, *problem,
                    "as in { value = \"16Gi\", default = \"2Gi\", max = \"8Gi\", step = \"1Gi\" }");
    return false;
  }
  if (entry.parts.size() > 1 && spec.replicas == 1 && spec.api == Api::kDra) {
    reporter.Report(Code::kNoEffect, value.place,
                    Format("the shares of \"{}\" have no effect without replicas: a claim gets the "
                           "whole device",
                           Truncate(entry.name.value, 100)),
                    Format("set replicas to the number of claims that can share a device, which "
                           "needs Kubernetes 1.36, or write {} = \"{}\"",
                           TomlKey(entry.name.value), Truncate(value.value, 80)));
  }
  return true;
}

void CompileCapacity(const CapacityText& entry, const DaemonSpec& daemon, const Scope& scope,
                     Reporter& reporter, ResourceSpec& spec) {
  const auto problem = ProblemWithCapacityName(entry.name.value, daemon.dra_driver);
  const bool has_name = CheckName(entry.name, problem, "memory = \"16Gi\"", reporter);
  const Text& text = entry.parts.at(kCapacityKeys[0]);
  auto value = CompileTemplate(text, scope, reporter);
  if (!value || !has_name) return;
  CapacitySpec capacity{.name = entry.name.value, .value = *std::move(value)};
  if (!CompileShares(entry, spec, reporter, capacity)) return;
  if (const auto literal = LiteralOf(capacity.value)) {
    const auto parsed =
        *literal ? CapacityOf(capacity, **literal, spec.replicas) : Failure(literal->error());
    if (!parsed) {
      return reporter.Report(Code::kBadValue, text.place, parsed.error().message,
                             "as in \"16Gi\", and not less than \"default\" and \"step\"");
    }
  }
  spec.capacity.push_back(std::move(capacity));
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
  for (const CapacityText& capacity : resource.GetCapacities("capacity")) {
    CompileCapacity(capacity, daemon, devices, reporter, spec);
  }
  CheckNumber(resource.PlaceOf(resource.Has("attributes") ? "attributes" : "capacity"), spec,
              reporter);
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
      {"capacity", Api::kDra},
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
