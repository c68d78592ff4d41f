// A class belongs to the cluster, so the resources of all nodes are printed, and neither the host
// nor the API server is accessed. YAML is the JSON of the class, which the tests send to the
// built-in API server, with comments below it. The comments are text, not JSON, so that they can
// explain; the tests parse the manifests in them.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "base/format.h"
#include "cli/commands.h"
#include "cli/load.h"
#include "cli/run_scan.h"
#include "cli/yaml.h"
#include "dra/device_name.h"
#include "dra/slice_json.h"

namespace patchbay {
namespace {

using Json = nlohmann::ordered_json;

/// A resource that has a class. Its entries for different nodes have one class together.
struct ClassifiedResource {
  std::string name;
  int slots = 1;  ///< the most replicas of its entries
};

/// Returns the selected resources in the order of the file, also those of other nodes. Fails if one
/// of `names` is not served by Dynamic Resource Allocation; `names` is empty for all that are.
Result<std::vector<ClassifiedResource>> SelectResources(const Model& model,
                                                        const std::vector<std::string>& names) {
  std::vector<ClassifiedResource> all;
  for (const ResourceSpec& spec : model.resources) {
    if (spec.api != Api::kDra) continue;
    const auto known = std::ranges::find(all, spec.name, &ClassifiedResource::name);
    if (known == all.end()) {
      all.push_back({spec.name, spec.replicas});
    } else {
      known->slots = std::max(known->slots, spec.replicas);
    }
  }
  for (const std::string& name : names) {
    TRY(CheckResourceName(model, name));
    if (std::ranges::find(all, name, &ClassifiedResource::name) != all.end()) continue;
    return Fail(ErrorKind::kPrecondition,
                Format("{} is served by the device plugin API and needs no DeviceClass; to serve "
                       "it by Dynamic Resource Allocation, set api = \"dra\" in its [[resource]]",
                       name));
  }
  if (all.empty()) {
    return Fail(ErrorKind::kPrecondition,
                "no resource is served by Dynamic Resource Allocation, so none needs a "
                "DeviceClass; set api = \"dra\" in a [[resource]], or in [daemon] for all");
  }
  std::erase_if(all, [&](const ClassifiedResource& resource) {
    return !names.empty() && std::ranges::find(names, resource.name) == names.end();
  });
  return all;
}

/// How pods request a device, below the class. The text is YAML behind each "#   ".
constexpr std::string_view kUsage = R"(
From Kubernetes 1.36, a container requests a device in its limits:

  resources:
    limits:
      {resource}: 1

From Kubernetes 1.34, a pod requests a device by a claim, which can select it by its attributes.
`patchbay devices` lists the IDs.

  apiVersion: resource.k8s.io/v1
  kind: ResourceClaimTemplate
  metadata:
    name: {label}
  spec:
    spec:
      devices:
        requests:
        - name: device
          exactly:
            deviceClassName: {class}
            selectors:
            - cel:
                expression: device.attributes['{driver}'].id == 'ID'
  ---
  apiVersion: v1
  kind: Pod
  metadata:
    name: {label}
  spec:
    resourceClaims:
    - name: device
      resourceClaimTemplateName: {label}
    containers:
    - name: main
      image: registry.example.com/app
      resources:
        claims:
        - name: device
)";

constexpr std::string_view kSharedUsage = R"(
Claims share a device, up to {} slots. For two slots of one device, add to `exactly`:

  capacity:
    requests:
      slots: "2"
)";

/// Returns the lines of a text as comments.
std::string Comment(const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    out += line.empty() ? "#\n" : Format("# {}\n", line);
  }
  return out;
}

std::string ClassText(const ClassifiedResource& resource, const std::string& driver) {
  const std::string name = DeviceClassName(resource.name);
  std::string usage = Format(kUsage, fmt::arg("resource", YamlString(resource.name)),
                             fmt::arg("label", YamlString(name.substr(0, name.find('.')))),
                             fmt::arg("class", YamlString(name)), fmt::arg("driver", driver));
  if (resource.slots > 1) usage += Format(kSharedUsage, resource.slots);
  return YamlText(DeviceClassJson(resource.name, driver)) + Comment(usage);
}

std::string ClassesText(const std::vector<ClassifiedResource>& resources,
                        const std::string& driver) {
  std::string text;
  for (const ClassifiedResource& resource : resources) {
    if (!text.empty()) text += "---\n";
    text += ClassText(resource, driver);
  }
  return text;
}

/// Returns the classes as a List, which `kubectl apply` accepts.
Json ClassesJson(const std::vector<ClassifiedResource>& resources, const std::string& driver) {
  Json items = Json::array();
  for (const ClassifiedResource& resource : resources) {
    items.push_back(DeviceClassJson(resource.name, driver));
  }
  return {{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(items)}};
}

}  // namespace

int RunDeviceClasses(const Arguments& arguments, Streams streams) {
  const Loaded loaded = LoadConfig(arguments);
  streams.err << BriefDiagnostics(loaded.diagnostics, arguments.config, streams.colors_err);
  if (!loaded.model) return kFailed;
  const auto resources = SelectResources(*loaded.model, arguments.resources);
  if (!resources) return ReportFailure(resources.error(), streams);
  const std::string& driver = loaded.model->daemon.dra_driver;
  switch (arguments.output) {
    case Output::kTable:
    case Output::kYaml: streams.out << ClassesText(*resources, driver); break;
    case Output::kJson:
      streams.out << ObjectText(ClassesJson(*resources, driver), Output::kJson);
      break;
    case Output::kName:
      for (const ClassifiedResource& resource : *resources) {
        streams.out << DeviceClassName(resource.name) << "\n";
      }
  }
  return kOk;
}

}  // namespace patchbay
