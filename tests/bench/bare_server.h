#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "deviceplugin.pb.h"
#include "os/unique_fd.h"
#include "support/temp_tree.h"

namespace patchbay::bench {

/// The APIs for servers in gRPC C++, as arguments of a process. The completion queue is polled by
/// one thread.
constexpr std::string_view kCallbackApi = "callback", kSynchronousApi = "synchronous",
                           kCompletionQueueApi = "completion-queue";
/// The completion queue, which also looks up the device before each response.
constexpr std::string_view kLookupApi = "completion-queue-with-lookup";

/// A server that returns the same response to every Allocate. It runs in a process of its own, like
/// the daemon, so the time of its calls is what gRPC and the kernel take.
class BareServer {
 public:
  /// Returns when the server accepts connections; exits if it does not start.
  BareServer(std::string_view api, const v1beta1::AllocateResponse& response,
             const std::string& node = "");
  ~BareServer();
  BareServer(const BareServer&) = delete;
  BareServer& operator=(const BareServer&) = delete;

  std::string socket() const { return tree_.path("socket"); }
  pid_t pid() const { return pid_; }

 private:
  test::TempTree tree_;
  UniqueFd lifeline_;  ///< the process ends when this end of its stdin is closed
  pid_t pid_ = -1;
};

/// The first argument of a process that is a bare server.
constexpr std::string_view kServeArgument = "--serve-bare";
/// The main function of such a process. `arguments` are the API, the path of the socket, a file
/// with the response, and the device node for kLookupApi.
int ServeBare(const std::vector<std::string>& arguments);

}  // namespace patchbay::bench
