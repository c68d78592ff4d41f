#include "sim/try/dra_report.h"

#include <algorithm>
#include <ostream>

#include "base/escape.h"
#include "base/format.h"
#include "cdi/cdi_directory.h"
#include "cli/load.h"
#include "cli/table.h"
#include "dra/claim_spec.h"
#include "dra/device_name.h"
#include "dra/slice_json.h"
#include "sim/try/dra_text.h"
#include "sim/try/host_report.h"

namespace patchbay {
namespace {

bool HasUsableDevice(const std::vector<ResourceSlice>& slices) {
  return std::ranges::any_of(slices, [](const ResourceSlice& slice) {
    return std::ranges::any_of(slice.devices, &std::vector<DeviceTaint>::empty,
                               &SliceDevice::taints);
  });
}

/// Returns the slices of a resource if its pool is complete, in the order of their names;
/// otherwise nothing.
std::vector<ResourceSlice> SlicesOf(const ClusterSim& cluster, std::string_view resource) {
  const std::string pool = PoolName(NodeName(), resource);
  std::vector<ResourceSlice> slices;
  for (const api_sim::Json& item : cluster.Slices()) {
    const auto parsed = ParseSlice(item.dump());
    if (parsed && parsed->slice.pool == pool) slices.push_back(parsed->slice);
  }
  const auto newest = std::ranges::max_element(slices, {}, &ResourceSlice::generation);
  if (newest == slices.end()) return {};
  const std::int64_t generation = newest->generation, count = newest->slice_count;
  std::erase_if(slices, [&](const ResourceSlice& each) { return each.generation != generation; });
  if (static_cast<std::int64_t>(slices.size()) != count) return {};
  return slices;
}

/// Creates a claim for one device, allocates it, has it prepared, and prints what its container
/// gets. Fails with the message of the API server or of the pod's event.
Status PrintPrepared(ClusterSim& cluster, const Model& model, const std::string& resource,
                     std::ostream& out) {
  const SimClaim claim = TRY(cluster.CreateClaim(DeviceClassName(resource), resource));
  TRY(cluster.Allocate(claim));
  const SimPreparedClaims claims = TRY(cluster.kubelet().PrepareClaims(claim.name, {claim}));
  const std::vector<SimPreparedDevice>& devices = claims.at(claim.uid);
  if (devices.empty()) {
    return Fail(ErrorKind::kInvalid, "the driver returned no device for the claim " + claim.name);
  }
  const CdiDirectory directory(model.daemon.cdi_dir);
  const CdiSpec file = TRY(directory.Read(ClaimFileName(claim.driver, claim.uid)));
  out << "A container with the claim " << claim.namespace_name << "/" << claim.name << " gets "
      << Printable(devices.front().device) << ":\n"
      << RenderCdiDevices(file, CdiDevicesOf(devices));
  ReportNotes(model, resource, {}, out);
  return {};
}

/// Prints what the container of a new claim gets, and ends the claim. Returns whether all of it
/// succeeded.
bool ReportClaim(ClusterSim& cluster, const Model& model, const std::string& resource,
                 std::ostream& out) {
  const Status prepared = PrintPrepared(cluster, model, resource, out);
  const std::string name = DeviceClassName(resource);
  const Status unprepared = cluster.kubelet().UnprepareClaims(name);
  const Status deleted = cluster.DeleteClaim(name);
  for (const Status& status : {prepared, unprepared, deleted}) {
    if (status) continue;
    out << resource << ": " << Printable(status.error().message) << "\n";
    return false;
  }
  return true;
}

}  // namespace

void AwaitPublished(ClusterSim& cluster, const std::vector<std::string>& resources,
                    const std::function<bool()>& is_cancelled, std::chrono::milliseconds timeout) {
  cluster.kubelet().Await([&] { return is_cancelled() || cluster.IsRegistered(); }, timeout);
  cluster.server().Await(
      [&] {
        return is_cancelled() || std::ranges::none_of(resources, [&](const std::string& resource) {
                 return SlicesOf(cluster, resource).empty();
               });
      },
      timeout);
}

bool ReportDra(ClusterSim& cluster, const Model& model, const std::vector<std::string>& resources,
               const std::function<std::string(const std::string& resource)>& why_not_served,
               Streams streams) {
  std::ostream& out = streams.out;
  std::vector<std::vector<std::string>> rows = {PoolHeading()};
  for (const std::string& resource : resources) {
    rows.push_back(PoolRow(resource, SlicesOf(cluster, resource)));
  }
  out << RenderTable(rows, streams.colors_out);

  bool well = true;
  for (const std::string& resource : resources) {
    out << "\n";
    const std::vector<ResourceSlice> slices = SlicesOf(cluster, resource);
    if (slices.empty() || !cluster.IsRegistered()) {
      out << resource << " " << Printable(why_not_served(resource)) << "\n";
      well = false;
      continue;
    }
    const std::string devices = DevicesText(slices);
    if (!devices.empty()) out << "Devices of " << resource << ":\n" << devices;
    const bool succeeded = HasUsableDevice(slices)
                               ? ReportClaim(cluster, model, resource, out)
                               : ReportNoDevices(model, resource, out) && devices.empty();
    well = well && succeeded;
  }
  out << std::flush;
  return well;
}

}  // namespace patchbay
