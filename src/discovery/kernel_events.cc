#include "discovery/kernel_events.h"

#include <libudev.h>

#include <cerrno>
#include <utility>

namespace patchbay {
namespace {

// Enough for thousands of events; the default of libudev is 128 MiB. Lost events are reported.
constexpr int kReceiveBuffer = 1024 * 1024;

std::string Text(const char* text) { return text == nullptr ? "" : text; }

}  // namespace

void UdevFree::operator()(udev* context) const { udev_unref(context); }
void UdevFree::operator()(udev_device* device) const { udev_device_unref(device); }
void UdevFree::operator()(udev_monitor* monitor) const { udev_monitor_unref(monitor); }

Result<std::unique_ptr<KernelEvents>> KernelEvents::Create(
    Loop& loop, std::function<void(const KernelEvent&)> on_event) {
  const std::string what = "cannot receive the kernel's device events";
  Context context(udev_new());
  if (!context) return FailErrno(what, errno);
  Monitor monitor(udev_monitor_new_from_netlink(context.get(), "kernel"));
  if (!monitor) return FailErrno(what, errno);
  // Without the capability to exceed the limit of the system, that limit applies.
  udev_monitor_set_receive_buffer_size(monitor.get(), kReceiveBuffer);
  const int error = udev_monitor_enable_receiving(monitor.get());
  if (error < 0) return FailErrno(what, -error);
  return std::unique_ptr<KernelEvents>(
      new KernelEvents(loop, std::move(context), std::move(monitor), std::move(on_event)));
}

KernelEvents::KernelEvents(Loop& loop, Context context, Monitor monitor,
                           std::function<void(const KernelEvent&)> on_event)
    : context_(std::move(context)),
      monitor_(std::move(monitor)),
      on_event_(std::move(on_event)),
      readable_(loop.OnReadable(udev_monitor_get_fd(monitor_.get()), [this] { Receive(); })) {}

void KernelEvents::Receive() {
  for (int i = 0; i < kMaxAtOnce; ++i) {
    const std::unique_ptr<udev_device, UdevFree> device(
        udev_monitor_receive_device(monitor_.get()));
    if (device) {
      on_event_({Text(udev_device_get_action(device.get())),
                 Text(udev_device_get_subsystem(device.get())),
                 Text(udev_device_get_syspath(device.get())), false});
    } else if (errno == ENOBUFS) {
      on_event_({"", "", "", true});
    } else {
      return;
    }
  }
}

}  // namespace patchbay
