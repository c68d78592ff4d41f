#pragma once

#include "discovery/scan_context.h"

namespace patchbay {

/// The sources of devices: one function and one file for each alternative of `Source`. A source
/// reads the host through the ScanContext, adds candidates, and reports what it cannot read. It
/// knows nothing about device IDs, health or the kubelet.
void ScanSource(const PathSource& source, ScanContext& scan);
void ScanSource(const RegexSource& source, ScanContext& scan);
void ScanSource(const CountSource& source, ScanContext& scan);
void ScanSource(const CommandSource& source, ScanContext& scan);
void ScanSource(const UsbPattern& usb, ScanContext& scan);
void ScanSource(const PciPattern& pci, ScanContext& scan);
void ScanSource(const UdevPattern& udev, ScanContext& scan);

}  // namespace patchbay
