#include "model/hardware_patterns.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

TEST(HardwarePatterns, NamesOfUsbPorts) {
  for (const char* name : {"1-2", "1-1.2", "10-1.4.12", "usb1"})
    EXPECT_TRUE(IsUsbPort(name)) << name;
  for (const char* name : {"", "1", "1-", "-1", "1-1.", "1-1..2", "1-1:1.0", "usb", "usb1-1", "1-a",
                           "Bus 001 Port 1", " 1-2"}) {
    EXPECT_FALSE(IsUsbPort(name)) << name;
  }
}

TEST(HardwarePatterns, NamesOfPciFunctions) {
  for (const char* name : {"0000:3b:00.0", "0000:ff:1f.7", "10000:e1:00.0"}) {
    EXPECT_TRUE(IsPciAddress(name)) << name;
  }
  for (const char* name :
       {"", "3b:00.0", "0000:3b:0.0", "0000:3B:00.0", "0000:3b:20.0", "0000:3b:00.8", "0000:3b:00",
        "000:3b:00.0", "0000-3b:00.0", "0000:3b-00.0", "000g:3b:00.0", "0000:3b:00:0"}) {
    EXPECT_FALSE(IsPciAddress(name)) << name;
  }
}

}  // namespace
}  // namespace patchbay
