#include "rpc/grpc_init.h"

#include <absl/synchronization/mutex.h>
#include <google/protobuf/stubs/logging.h>
#include <grpc/grpc.h>
#include <grpc/support/log.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "base/format.h"
#include "base/log_writer.h"

// gRPC calls the functions that are defined here once, for its parts, and a program can define them
// instead of the library. What they do not register is not in the release, which links archives.
// The functions are those of gRPC 1.51, whose headers are not installed; the build refuses another
// version, which may need other parts.

void grpc_resolver_dns_ares_init();
void grpc_resolver_dns_ares_shutdown();
void grpc_resolver_dns_ares_init() {}
void grpc_resolver_dns_ares_shutdown() {}

namespace grpc_core {

struct CoreConfiguration {
  class Builder;
};
using Builder = CoreConfiguration::Builder;

void RegisterTCPConnectHandshaker(Builder* builder);
void RegisterPickFirstLbPolicy(Builder* builder);
void BuildClientChannelConfiguration(Builder* builder);
void SecurityRegisterHandshakerFactories(Builder* builder);
void RegisterClientAuthorityFilter(Builder* builder);
void RegisterHttpFilters(Builder* builder);
void RegisterDeadlineFilter(Builder* builder);
void RegisterMessageSizeFilter(Builder* builder);
void RegisterResourceQuota(Builder* builder);
void RegisterSockaddrResolver(Builder* builder);
void RegisterSecurityFilters(Builder* builder);
void RegisterBuiltins(Builder* builder);
void BuildCoreConfiguration(Builder* builder);

}  // namespace grpc_core

namespace grpc_event_engine::experimental {

void RegisterEventEngineChannelArgPreconditioning(grpc_core::Builder* builder);

}  // namespace grpc_event_engine::experimental

// Registers the parts that Unix sockets need: no DNS, no proxies, no policies for several servers.
// The order is that of gRPC. Insecure credentials are security filters.
void grpc_core::BuildCoreConfiguration(Builder* builder) {
  grpc_event_engine::experimental::RegisterEventEngineChannelArgPreconditioning(builder);
  RegisterTCPConnectHandshaker(builder);
  RegisterPickFirstLbPolicy(builder);
  BuildClientChannelConfiguration(builder);
  SecurityRegisterHandshakerFactories(builder);
  RegisterClientAuthorityFilter(builder);
  RegisterHttpFilters(builder);
  RegisterDeadlineFilter(builder);
  RegisterMessageSizeFilter(builder);
  RegisterResourceQuota(builder);
  RegisterSockaddrResolver(builder);
  RegisterSecurityFilters(builder);
  RegisterBuiltins(builder);
}

namespace patchbay {

void InitGrpc() {
  // Messages that gRPC and protobuf write to stderr are not structured and not for administrators;
  // relevant errors are returned and logged. Fatal messages remain, and GRPC_VERBOSITY enables all.
  if (std::getenv("GRPC_VERBOSITY") == nullptr) {
    gpr_set_log_function([](gpr_log_func_args* line) {
      if (std::strstr(line->message, "assertion failed") != nullptr) {
        // abort() follows, and must not wait for the log.
        WriteWithin(STDERR_FILENO,
                    format("gRPC: {}:{}: {}\n", line->file, line->line, line->message),
                    LogWriter::kDrainTime);
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
