#include "dra/claim_metadata.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/format.h"
#include "dra/attributes.h"
#include "dra/slice_json.h"
#include "model/object_name.h"

namespace patchbay {
namespace {

using nlohmann::ordered_json;

/// The version of the format of Kubernetes 1.36. Readers take the first object that they know.
constexpr std::string_view kVersion = "metadata.resource.k8s.io/v1alpha1";

/// Returns how the container has the interface of a device; null if it does not get one.
ordered_json NetworkJson(const Device& device, const ContainerResponse& response) {
  if (!device.interface) return {};
  for (const auto& [move, hook] : response.networks) {
    if (!IsSameInterface(move.interface, *device.interface)) continue;
    const std::string_view name = move.name.empty() ? InterfaceNameOf(device) : move.name;
    ordered_json json = {{"interfaceName", name}};
    if (!move.addresses.empty()) json["ips"] = move.addresses;
    if (!move.interface.address.empty()) json["hardwareAddress"] = move.interface.address;
    return json;
  }
  return {};
}

void AddDevices(const PreparedRequest& request, std::string_view driver,
                const ServedResource& served, const ContainerResponse& response,
                ordered_json& devices) {
  const ResourceSpec& spec = *served.devices->snapshot().spec;
  for (const PreparedDevice& device : request.devices) {
    ordered_json json = {{"driver", driver}, {"pool", device.pool}, {"name", device.device}};
    if (const ListedDevice* listed = FindDevice(served.devices->snapshot(), device.device_id)) {
      const AttributeInput input{.device = *listed->device,
                                 .resource = spec.name,
                                 .node_name = served.lookups->host().node_name};
      const DeviceAttributes attributes = AttributesOf(input, spec.attributes);
      for (const auto& [name, value] : attributes.values) {
        json["attributes"][name] = AttributeJson(value);
      }
      ordered_json network = NetworkJson(*listed->device, response);
      if (!network.is_null()) json["networkData"] = std::move(network);
    }
    devices.push_back(std::move(json));
  }
}

}  // namespace

std::string MetadataFileName(std::string_view uid, std::string_view request) {
  return Format("metadata_{}_{}.json", uid, request);
}

std::vector<ClaimMetadata> MetadataOf(const PreparedClaim& plan, std::string_view driver,
                                      const ServedResources& resources,
                                      std::span<const ContainerResponse> responses) {
  std::vector<std::pair<const PreparedRequest*, ordered_json>> requests;
  for (std::size_t i = 0; i < plan.requests.size(); ++i) {
    const PreparedRequest& request = plan.requests[i];
    const auto served = resources.find(request.devices.front().pool);
    if (served == resources.end() || served->second.devices == nullptr) continue;
    if (!IsDnsLabel(request.request)) continue;  // a part of a path
    auto same = std::ranges::find_if(
        requests, [&](const auto& one) { return one.first->request == request.request; });
    if (same == requests.end()) {
      same = requests.insert(same, {&request, ordered_json::array()});
    }
    AddDevices(request, driver, served->second, responses[i], same->second);
  }
  std::vector<ClaimMetadata> files;
  for (auto& [request, devices] : requests) {
    const std::string& name = request->subrequest.empty() ? request->request : request->subrequest;
    ordered_json json = {{"apiVersion", kVersion},
                         {"kind", "DeviceMetadata"},
                         {"metadata",
                          {{"name", plan.claim.name},
                           {"namespace", plan.claim.namespace_name},
                           {"uid", plan.claim.uid},
                           {"generation", 1}}}};
    if (!plan.pod_claim_name.empty()) json["podClaimName"] = plan.pod_claim_name;
    json["requests"] = {{{"name", name}, {"devices", std::move(devices)}}};
    const std::string text =
        json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
    files.push_back({request->request, text});
  }
  return files;
}

std::string MetadataPathInContainer(const PreparedClaim& plan, std::string_view request,
                                    std::string_view driver) {
  const bool is_of_template = !plan.pod_claim_name.empty();
  return Format("{}{}/{}/{}/{}-metadata.json", kMetadataDirectory,
                is_of_template ? "resourceclaimtemplates" : "resourceclaims",
                is_of_template ? plan.pod_claim_name : plan.claim.name, request, driver);
}

}  // namespace patchbay
