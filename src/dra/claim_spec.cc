// Each request and resource of a claim is one CDI device.
//
// Runtimes reject a file in which a device has no edits. A device whose resource gives a container
// nothing therefore has a variable in the file, and is not named in the answer.

#include "dra/claim_spec.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/format.h"
#include "cdi/cdi_directory.h"
#include "dra/claim_metadata.h"
#include "dra/sha256.h"
#include "model/container_paths.h"

namespace patchbay {
namespace {

constexpr std::string_view kPlaceholderEnv = "PATCHBAY_CLAIM";

/// Returns the name of a CDI device. The names of requests have no dots, so no two devices of a
/// claim get the same name. Runtimes cache devices by name, so a claim that is prepared again in
/// another way gets other names.
Result<std::string> CdiNameOf(const ClaimKey& claim, const PreparedRequest& request, int number,
                              const CdiEdits& edits) {
  std::string meaning = TRY(
      CdiToJson({.kind = "patchbay.dev/edits", .devices = {{.name = "edits", .edits = edits}}}));
  for (const PreparedDevice& device : request.devices) {
    meaning += Format("\n{} {} {}", device.pool, device.device, device.share_id);
    for (const int replica : device.replicas) meaning += Format(" {}", replica);
  }
  const std::string of_request =
      number == 1 ? request.request : Format("{}.{}", request.request, number);
  return Format("{}-{}-{}", claim.uid, of_request, HashDigits(meaning, 16));
}

Status AddEnv(const PreparedRequest& request, CdiEdits& edits) {
  for (const auto& [name, value] : request.env) {
    if (edits.env.emplace(name, value).second) continue;
    return Fail(ErrorKind::kInvalid,
                Format("the parameters of the claim set the environment variable \"{}\", which "
                       "the resource \"{}\" sets; remove it from the parameters of the claim or "
                       "the device class",
                       name, request.resource));
  }
  return {};
}

/// {slot} does not differ between two resources: it counts the devices of each.
std::string CureOfClash(const PreparedRequest& a, const PreparedRequest& b) {
  if (a.resource == b.resource) {
    return "use a variable in its name that differs between devices, such as {slot} or {id}";
  }
  return Format(
      "use another name in one of the resources {} and {}, or a variable in it that differs "
      "between devices, such as {{id}}, because {{slot}} counts the devices of each resource",
      a.resource, b.resource);
}

}  // namespace

std::string ClaimKind(std::string_view driver) { return Format("{}/claim", driver); }

std::string ClaimFileName(std::string_view driver, std::string_view uid) {
  return CdiFileName(ClaimKind(driver), uid);
}

CdiEdits EditsOf(const ContainerResponse& response) {
  CdiEdits edits{.env = response.envs};
  edits.device_nodes.reserve(response.devices.size());
  for (const auto& device : response.devices) {
    const bool is_same = device.host_path == device.container_path;
    CdiDeviceNode node{device.container_path, is_same ? "" : device.host_path, device.permissions};
    if (device.node) {
      node.type = device.node->type == FileType::kBlock ? 'b' : 'c';
      node.major = device.node->major;
      node.minor = device.node->minor;
      node.mode = device.node->mode;
      node.uid = device.node->uid;
      node.gid = device.node->gid;
    }
    edits.device_nodes.push_back(std::move(node));
  }
  edits.mounts.reserve(response.mounts.size());
  for (const auto& mount : response.mounts) {
    edits.mounts.push_back(
        {mount.host_path, mount.container_path, {"rbind", mount.read_only ? "ro" : "rw"}});
  }
  for (const auto& network : response.networks) edits.hooks.push_back(network.hook);
  return edits;
}

std::string MovedNode(const CdiSpec& file, std::span<const ContainerResponse> now) {
  const auto numbers_of = [](const CdiDeviceNode& node) {
    return Format("{} {}:{}", node.type, node.major, node.minor);
  };
  std::map<std::string, std::string> numbers;  // by the path in the container
  for (const ContainerResponse& response : now) {
    for (const CdiDeviceNode& node : EditsOf(response).device_nodes) {
      numbers.emplace(node.path, numbers_of(node));
    }
  }
  for (const CdiDevice& device : file.devices) {
    for (const CdiDeviceNode& node : device.edits.device_nodes) {
      const auto is = numbers.find(node.path);
      if (node.type == 0 || is == numbers.end() || is->second == numbers_of(node)) continue;
      return Format(
          "the device node at {} has changed from {} to {} since it was given to "
          "containers; delete the pods of the claim, so that they get it as it is",
          node.path, numbers_of(node), is->second);
    }
  }
  return "";
}

std::string ClashOf(const CdiEdits& a, const CdiEdits& b) {
  for (const auto& [name, value] : a.env) {
    const auto other = b.env.find(name);
    if (other != b.env.end() && other->second != value && name != kPlaceholderEnv) {
      return "the environment variable " + name;
    }
  }
  std::vector<ContainerPath> paths;
  for (const CdiEdits* edits : {&a, &b}) {
    for (const CdiDeviceNode& node : edits->device_nodes) {
      paths.push_back(
          {node.path, PathKind::kNode, node.host_path.empty() ? node.path : node.host_path});
    }
    for (const CdiMount& mount : edits->mounts) {
      paths.push_back({mount.container_path, PathKind::kMount, mount.host_path});
    }
  }
  const auto clash = FindPathClash(paths);
  return clash ? Format("the path {}", paths[clash->other].path) : "";
}

Status CheckTogether(const ClaimKey& a, const CdiSpec& edits_of_a, const ClaimKey& b,
                     const CdiSpec& edits_of_b) {
  for (const CdiDevice& device : edits_of_a.devices) {
    for (const CdiDevice& other : edits_of_b.devices) {
      const std::string clash = ClashOf(device.edits, other.edits);
      if (clash.empty()) continue;
      return Fail(ErrorKind::kInvalid,
                  Format("the claims {}/{} and {}/{} of the pod both have {}, with different "
                         "content; use a variable in its name that differs between devices, such "
                         "as {{id}}, because {{slot}} counts the devices of one resource in one "
                         "claim; or use one claim, if both are of one resource",
                         a.namespace_name, a.name, b.namespace_name, b.name, clash));
    }
  }
  return {};
}

Result<ClaimSpec> MakeClaimSpec(std::string_view driver, PreparedClaim plan,
                                std::span<const ContainerResponse> responses,
                                std::string_view metadata_dir) {
  CdiSpec file{.kind = ClaimKind(driver), .devices = {}};
  std::vector<CdiDevice>& devices = file.devices;
  std::map<std::string_view, int> numbers;
  for (std::size_t i = 0; i < plan.requests.size(); ++i) {
    PreparedRequest& planned = plan.requests[i];
    CdiDevice device{.name = {}, .edits = EditsOf(responses[i])};
    TRY(AddEnv(planned, device.edits));
    const bool has_metadata =
        std::ranges::count(plan.metadata, planned.request, &ClaimMetadata::request) > 0;
    if (has_metadata && !numbers.contains(planned.request)) {
      device.edits.mounts.push_back(
          {Format("{}/{}", metadata_dir, MetadataFileName(plan.claim.uid, planned.request)),
           MetadataPathInContainer(plan, planned.request, driver),
           {"bind", "ro"}});
    }
    for (std::size_t j = 0; j < i; ++j) {
      const std::string clash = ClashOf(devices[j].edits, device.edits);
      if (clash.empty()) continue;
      const PreparedRequest& other = plan.requests[j];
      return Fail(ErrorKind::kInvalid,
                  Format("its requests \"{}\" and \"{}\" both have {}, with different content; {}",
                         other.request, planned.request, clash, CureOfClash(other, planned)));
    }
    const bool has_edits = device.edits != CdiEdits();
    if (!has_edits) device.edits.env.emplace(kPlaceholderEnv, plan.claim.uid);
    device.name = TRY(CdiNameOf(plan.claim, planned, ++numbers[planned.request], device.edits));
    planned.cdi_devices = responses[i].cdi_devices;
    if (has_edits) {
      planned.cdi_devices.insert(planned.cdi_devices.begin(),
                                 QualifiedCdiName(file.kind, device.name));
    }
    devices.push_back(std::move(device));
  }
  plan.cdi_file = TRY(CdiToJson(file));
  return ClaimSpec{std::move(file), std::move(plan)};
}

}  // namespace patchbay
