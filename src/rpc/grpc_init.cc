#include "rpc/grpc_init.h"

#include <absl/synchronization/mutex.h>
#include <google/protobuf/stubs/logging.h>
#include <grpc/grpc.h>
#include <grpc/support/log.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "base/format.h"
#include "base/write_within.h"

namespace patchbay {

void InitGrpc() {
  // Messages that gRPC and protobuf write to stderr are not structured and not for administrators;
  // relevant errors are returned and logged. Fatal messages remain, and GRPC_VERBOSITY enables all.
  if (std::getenv("GRPC_VERBOSITY") == nullptr) {
    gpr_set_log_function([](gpr_log_func_args* line) {
      if (std::strstr(line->message, "assertion failed") != nullptr) {
        // abort() follows, and must not wait for the log.
        WriteWithin(STDERR_FILENO,
                    Format("gRPC: {}:{}: {}\n", line->file, line->line, line->message),
                    std::chrono::milliseconds(200));
      }
    });
    google::protobuf::SetLogHandler(nullptr);
  }
  // Disables deadlock detection of abseil, which Debian enables and which slows down every lock of
  // gRPC.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  grpc_init();
}

}  // namespace patchbay
