#pragma once

#include "discovery/scan_context.h"

namespace patchbay {

/// The sources of devices: one function and one file for each alternative of `Source`. A source
/// looks at the host through the ScanContext, adds what matches, and reports what it could not
/// read; it knows nothing of identity, health or the kubelet.
void ScanSource(const PathSource& source, ScanContext& scan);
void ScanSource(const RegexSource& source, ScanContext& scan);
void ScanSource(const CountSource& source, ScanContext& scan);
void ScanSource(const CommandSource& source, ScanContext& scan);
void ScanSource(const UsbPattern& usb, ScanContext& scan);
void ScanSource(const PciPattern& pci, ScanContext& scan);
void ScanSource(const UdevPattern& udev, ScanContext& scan);

}  // namespace patchbay
