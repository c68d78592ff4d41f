#include "sim/try/dra_report.h"

#include <algorithm>
#include <ostream>

#include "base/escape.h"
#include "cli/table.h"
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

/// Prepares a claim for one device, prints what its container gets, and unprepares it. Returns
/// whether all of it succeeded.
bool ReportClaim(DraCluster& cluster, const Model& model, const std::string& resource,
                 std::ostream& out) {
  const auto prepared = cluster.Prepare(resource);
  if (prepared) {
    out << "A container with the claim " << DraCluster::ClaimOf(resource) << " gets "
        << Printable(prepared->device) << ":\n"
        << RenderCdiDevices(prepared->file, prepared->cdi_devices);
    ReportNotes(model, resource, {}, out);
  } else {
    out << resource << ": " << Printable(prepared.error().message) << "\n";
  }
  const Status released = cluster.Release(resource);
  if (prepared && !released) {
    out << resource << ": " << Printable(released.error().message) << "\n";
  }
  return prepared && released;
}

}  // namespace

bool ReportDra(DraCluster& cluster, const Model& model, const std::vector<std::string>& resources,
               const std::function<std::string(const std::string& resource)>& why_not_served,
               Streams streams) {
  std::ostream& out = streams.out;
  std::vector<std::vector<std::string>> rows = {PoolHeading()};
  for (const std::string& resource : resources) {
    rows.push_back(PoolRow(resource, cluster.SlicesOf(resource)));
  }
  out << RenderTable(rows, streams.colors_out);

  bool well = true;
  for (const std::string& resource : resources) {
    out << "\n";
    const std::vector<ResourceSlice> slices = cluster.SlicesOf(resource);
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
