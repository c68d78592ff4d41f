#pragma once

#include <string_view>

namespace patchbay {

/// Paths that are directories on every host that has them.
inline constexpr std::string_view kUsualDirectories[] = {
    "/dev/accel",       "/dev/bus/usb",   "/dev/cpu",  "/dev/disk/by-id",   "/dev/disk/by-path",
    "/dev/dma_heap",    "/dev/dri",       "/dev/dvb",  "/dev/infiniband",   "/dev/input",
    "/dev/net",         "/dev/serial",    "/dev/snd",  "/dev/serial/by-id", "/dev/serial/by-path",
    "/dev/v4l/by-path", "/dev/v4l/by-id", "/dev/vfio", "/dev/usb",          "/dev/xfpga"};

}  // namespace patchbay
