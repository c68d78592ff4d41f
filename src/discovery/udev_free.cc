#include "discovery/udev_free.h"

#include <libudev.h>

namespace patchbay {

void UdevFree::operator()(udev* context) const { udev_unref(context); }
void UdevFree::operator()(udev_device* device) const { udev_device_unref(device); }
void UdevFree::operator()(udev_monitor* monitor) const { udev_monitor_unref(monitor); }

}  // namespace patchbay
