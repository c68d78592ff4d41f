#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api_server_sim/api.h"
#include "api_server_sim/faults.h"
#include "base/result.h"

namespace patchbay::api_sim {

/// The certificate of the server, in PEM.
struct TlsIdentity {
  std::string certificate;  ///< with the intermediate certificates
  std::string key;
  /// If set, a client with a certificate of this authority needs no token.
  std::string client_ca = {};
};

struct ApiServerOptions {
  ApiOptions api = {};
  std::uint16_t port = 0;  ///< 0: any free port
  /// The bearer tokens that are accepted. Empty: all requests are.
  std::set<std::string> tokens = {};
  /// Unset: plain HTTP.
  std::optional<TlsIdentity> tls = {};
  /// The time between bookmarks of a watch that allows them.
  std::chrono::milliseconds bookmark_interval{60'000};
  std::size_t max_body_bytes = std::size_t{3} << 20;  ///< of a request, as in the real server
  /// The time between a request and its response; watches begin at once.
  std::chrono::milliseconds latency{0};
};

/// A request that a connection received.
struct ApiCall {
  std::string method;
  std::string path;               ///< without the query
  std::optional<Verb> verb = {};  ///< unset: not a request for objects
  std::optional<Kind> kind = {};  ///< unset: not a request for objects
  std::string name = {};          ///< "" for a collection
  bool is_dry_run = false;
  int status = 0;  ///< that the request would have without a fault that damages the response
};

/// The way in which watches end.
enum class WatchEnd {
  kClose,  ///< the response ends, as after its timeout
  kReset,  ///< the connection is reset
};

/// The built-in Kubernetes API server: an Api behind HTTP or HTTPS on a loopback address, written
/// from the contract of DRA drivers. Its objects survive Stop and Start. Tests can rotate tokens,
/// replace the certificate and inject faults.
///
/// Thread-safe, except that only one of Start and Stop may run at a time. Connections run on one
/// thread of the server.
class ApiServerSim {
 public:
  /// Reserves the port, but does not listen before Start. Fails with kInvalid for a certificate or
  /// a key that cannot be used, and with kUnavailable if the port is in use.
  static Result<std::unique_ptr<ApiServerSim>> Create(const ApiServerOptions& options);
  ~ApiServerSim();
  ApiServerSim(const ApiServerSim&) = delete;
  ApiServerSim& operator=(const ApiServerSim&) = delete;

  /// Listens on the port. Fails with kUnavailable if this is not possible.
  Status Start();
  /// Closes the listener and all connections. Connecting is refused until Start, on the same port.
  /// Wakes Await. Does nothing else if it is not running.
  void Stop();
  Status Restart();

  std::uint16_t port() const;
  /// "https://127.0.0.1:6443"
  std::string url() const;

  // --- objects ---

  /// Handles a request except a watch, without authentication, faults and the log of calls.
  HttpResponse Call(const std::string& method, const std::string& target, const Json& body = {});
  /// Allocates and deallocates the devices of a claim, see claim_allocation.h.
  Status Allocate(const std::string& namespace_name, const std::string& claim,
                  const std::string& node);
  Status Deallocate(const std::string& namespace_name, const std::string& claim);

  /// Returns the last calls, at most 10,000.
  std::vector<ApiCall> Calls() const;
  /// The number of connections and of open watches.
  std::size_t Connections() const;
  std::size_t Watches() const;
  /// Waits until `predicate` is true, for at most `timeout`. Returns whether it is. The predicate
  /// is evaluated on the calling thread, without a lock, at once and after every change and every
  /// request of a client. It can read objects with Call.
  bool Await(const std::function<bool()>& predicate, std::chrono::milliseconds timeout) const;

  // --- faults ---

  /// Replaces the accepted tokens. Open watches continue, as with the real server.
  void SetTokens(std::set<std::string> tokens);
  /// Replaces the certificate for new connections. Fails with kInvalid like Create.
  Status SetTls(const TlsIdentity& identity);
  /// Replaces the faults that are still to come.
  void SetFaults(std::vector<Fault> faults);
  /// Returns how many faults of a limited number are still to come.
  int FaultsLeft() const;
  void SetProfile(ApiProfile profile);
  void SetFeatures(const ApiFeatures& features);
  /// Drops the history of changes: watches that are behind, and those that start from an older
  /// version, end with 410 in the given form.
  void Compact(ExpiredWatch form = ExpiredWatch::kErrorEvent);
  /// Ends all watches.
  void EndWatches(WatchEnd end);
  /// While paused, watches stay open but report nothing, as if the network lost their packets.
  void PauseWatches(bool paused);
  /// Sends a bookmark on each watch that allows them.
  void SendBookmarks();

 private:
  class Impl;
  explicit ApiServerSim(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace patchbay::api_sim
