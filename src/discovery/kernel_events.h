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

/// Releases libudev's objects, for std::unique_ptr.
struct UdevFree {
  void operator()(udev* context) const;
  void operator()(udev_device* device) const;
  void operator()(udev_monitor* monitor) const;
};

/// What the kernel says has happened to a device.
struct KernelEvent {
  std::string action;     ///< "add", "remove", "change", "move", "bind", "unbind" ...
  std::string subsystem;  ///< "tty"; any bytes
  std::string syspath;    ///< in /sys/devices, where the device need not be any more
  bool lost = false;      ///< events were lost: anything may have happened, and all else is empty
};

/// Hears the kernel's own events (uevents), which need no udevd and come to any network namespace
/// that belongs to the first user namespace; only those of network interfaces stay in theirs.
///
/// Belongs to the loop thread. Reads nothing from /sys, so an event tells that something happened
/// and not what is so now. Takes no more than kMaxAtOnce events at a time, then lets the loop
/// turn.
class KernelEvents {
 public:
  static constexpr int kMaxAtOnce = 64;

  /// Calls `on_event` on the loop thread for each event from now on; it may not destroy this
  /// object. Fails where the environment has no such events; looking again now and then must do
  /// there.
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
