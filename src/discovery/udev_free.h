#pragma once

struct udev;
struct udev_device;
struct udev_monitor;

namespace patchbay {

/// Gives back what libudev made, for std::unique_ptr.
struct UdevFree {
  void operator()(udev* context) const;
  void operator()(udev_device* device) const;
  void operator()(udev_monitor* monitor) const;
};

}  // namespace patchbay
