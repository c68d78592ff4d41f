#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "sim/api_server/server_state.h"

namespace patchbay::api_sim {

/// The certificate of the server, in PEM.
struct TlsIdentity {
  std::string certificate;  ///< with the intermediate certificates
  std::string key;
};

struct ApiServerOptions {
  ApiProfile profile = ApiProfile::k1_36;
  /// The bearer tokens that are accepted. Empty: all requests are.
  std::set<std::string> tokens = {};
  /// Unset: plain HTTP.
  std::optional<TlsIdentity> tls = {};
  /// The time between a request and its response; watches begin at once.
  std::chrono::milliseconds latency{0};
  /// The time between bookmarks of a watch that allows them.
  std::chrono::milliseconds bookmark_interval{60'000};
};

/// The way in which watches end.
enum class WatchEnd {
  kClose,  ///< the response ends, as after its timeout
  kReset,  ///< the connection is reset
};

/// The built-in Kubernetes API server: its state behind HTTP or HTTPS on a loopback address,
/// written from the contract of DRA drivers. Its objects survive Stop and Start.
///
/// Thread-safe, except that only one of Start and Stop may run at a time. Connections run on one
/// thread of the server.
class ApiServerSim final : public ServerState {
 public:
  /// Reserves a port, but does not listen before Start. Fails with kInvalid for a certificate or a
  /// key that cannot be used, and with kUnavailable without a port or a thread.
  static Result<std::unique_ptr<ApiServerSim>> Create(const ApiServerOptions& options);
  ~ApiServerSim() override;
  ApiServerSim(const ApiServerSim&) = delete;
  ApiServerSim& operator=(const ApiServerSim&) = delete;

  /// Listens on the port. Fails with kUnavailable if this is not possible.
  Status Start();
  /// Closes the listener and all connections. Connecting is refused until Start, on the same port.
  /// Wakes Await. Does nothing else if it is not running.
  void Stop();

  /// "https://127.0.0.1:6443"
  std::string url() const;
  std::uint16_t port() const;

  /// The number of open watches.
  std::size_t Watches() const;
  /// Ends all watches.
  void EndWatches(WatchEnd end);
  /// While paused, watches stay open but report nothing, as if the network lost their packets.
  void PauseWatches(bool paused);

 private:
  class Network;
  explicit ApiServerSim(const ApiServerOptions& options);
  void OnChange() override;

  std::unique_ptr<Network> network_;
};

}  // namespace patchbay::api_sim
