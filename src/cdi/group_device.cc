#include "cdi/group_device.h"

#include "base/format.h"

namespace patchbay {
namespace {

std::string DeviceOf(std::uint32_t gid) { return Format("gid-{}", gid); }

}  // namespace

std::string GroupDeviceName(std::uint32_t gid) {
  return QualifiedCdiName(kGroupKind, DeviceOf(gid));
}

Status WriteGroupDevice(const CdiDirectory& directory, std::uint32_t gid) {
  const CdiDevice device{DeviceOf(gid), {.additional_gids = {gid}}};
  return directory.Write(CdiFileName(kGroupKind, device.name), {std::string(kGroupKind), {device}});
}

}  // namespace patchbay
