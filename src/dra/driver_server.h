#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "dra/claim_service.h"
#include "dra/driver_observer.h"
#include "dra/health_list.h"
#include "rpc/latest_streams.h"
#include "rpc/pending_calls.h"
#include "rpc/unix_server.h"

namespace patchbay {

/// The NodeWatchResources streams of one server, of both versions.
using HealthStreams = LatestStreams<HealthList>;
/// Returns streams that report to the observer.
HealthStreams::Events HealthStreamEvents(std::shared_ptr<DriverObserver> observer);

/// The server on the socket of a driver: DRAPlugin v1 and v1beta1, which ask a ClaimService,
/// and DRAResourceHealth v1 and v1alpha1, which send the health of devices.
///
/// Requests are untrusted: their size, the number of claims and the names are bounded. Every claim
/// of a request has an entry in the response.
///
/// Start and the destructor block for some milliseconds and must not run on the loop.
class DriverServer {
 public:
  /// The objects that calls use. Shared, because calls can end after the server.
  struct Backend {
    std::string driver;
    std::shared_ptr<ClaimService> claims;
    std::shared_ptr<DriverObserver> observer;
    std::shared_ptr<PendingCalls> pending = nullptr;  ///< lists the calls about claims; may be null
  };

  /// Returns the methods of the socket. `streams` outlives the server that calls them.
  static RpcHandlers Handlers(const Backend& backend, HealthStreams& streams);

  /// Serves on `socket`, which no process may have bound. Health streams begin with `health`, or
  /// with the first list that is offered if it is null. Fails with kUnavailable.
  static Result<std::unique_ptr<DriverServer>> Start(std::shared_ptr<RpcServer> rpc,
                                                     std::string socket, const Backend& backend,
                                                     std::shared_ptr<const HealthList> health);

  /// Stops the server and removes the socket. Pending calls are canceled. `claims` is not called
  /// afterwards.
  ~DriverServer();
  DriverServer(const DriverServer&) = delete;
  DriverServer& operator=(const DriverServer&) = delete;

  /// Ends the health streams, and begins the grace period of pending calls; see UnixServer.
  void BeginStop();

  /// Sends the list on every health stream; from any thread. ResendHealth sends the last one again.
  void OfferHealth(std::shared_ptr<const HealthList> health) { streams_.Offer(std::move(health)); }

  void ResendHealth() { streams_.Resend(); }

  const std::string& socket() const { return server_->socket(); }

 private:
  explicit DriverServer(const Backend& backend) : streams_(HealthStreamEvents(backend.observer)) {}

  HealthStreams streams_;
  std::unique_ptr<UnixServer> server_;  ///< destroyed before the streams
};

}  // namespace patchbay
