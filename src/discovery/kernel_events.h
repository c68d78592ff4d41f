#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "os/loop.h"

struct udev;
struct udev_device;
struct udev_monitor;

namespace patchbay {

/// Deleter for objects of libudev.
struct UdevFree {
  void operator()(udev* context) const;
  void operator()(udev_device* device) const;
  void operator()(udev_monitor* monitor) const;
};

/// A kernel event (uevent) about a device.
struct KernelEvent {
  std::string action;     ///< "add", "remove", "change", "move", "bind", "unbind" ...
  std::string subsystem;  ///< "tty"; any bytes
  std::string syspath;    ///< in /sys/devices; the device may no longer exist
  bool lost = false;      ///< events were lost; all other fields are empty
};

/// Receives the events of the kernel (uevents). They need no udevd and reach every network
/// namespace of the initial user namespace, except those of network interfaces, which stay in their
/// namespace.
///
/// Belongs to the loop thread. Does not read /sys, so an event describes a change and not the
/// current state. Handles at most kMaxAtOnce events before it returns to the loop.
class KernelEvents {
 public:
  static constexpr int kMaxAtOnce = 64;

  /// Calls `on_event` on the loop thread for each event from now on; it must not destroy this
  /// object. Fails if the environment provides no events; the caller then relies on periodic scans.
  static Result<std::unique_ptr<KernelEvents>> Create(
      Loop& loop, std::function<void(const KernelEvent&)> on_event);

 private:
  using Context = std::unique_ptr<udev, UdevFree>;
  using Monitor = std::unique_ptr<udev_monitor, UdevFree>;

  KernelEvents(Loop& loop, Context context, Monitor monitor,
               std::function<void(const KernelEvent&)> on_event);
  void Receive();

  Context context_;
  Monitor monitor_;
  std::function<void(const KernelEvent&)> on_event_;
  Subscription readable_;
};

}  // namespace patchbay
