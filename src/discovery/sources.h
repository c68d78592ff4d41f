#pragma once

#include "discovery/scan.h"

namespace patchbay {

/// The sources of devices: one function and one file for each alternative of `Source`. A source
/// looks at the host through the Scan, adds what matches, and reports what it could not read; it
/// knows nothing of identity, health or the kubelet.
void ScanSource(const PathSource& source, Scan& scan);
void ScanSource(const RegexSource& source, Scan& scan);
void ScanSource(const CountSource& source, Scan& scan);
void ScanSource(const CommandSource& source, Scan& scan);
void ScanSource(const UsbPattern& usb, Scan& scan);
void ScanSource(const PciPattern& pci, Scan& scan);
void ScanSource(const UdevPattern& udev, Scan& scan);

}  // namespace patchbay
