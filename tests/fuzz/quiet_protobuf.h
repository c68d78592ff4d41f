#pragma once

#include <google/protobuf/stubs/logging.h>

/// Turns off the log of protobuf, which reports each input that is not a valid message. For the
/// source of a fuzzer.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  google::protobuf::SetLogHandler(nullptr);
  return 0;
}
