#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "dra/claim_service.h"
#include "dra/health_list.h"
#include "rpc/latest_streams.h"
#include "rpc/pending_calls.h"
#include "rpc/server_call.h"
#include "status/observer.h"

namespace patchbay {

/// The calls of the kubelet to a driver, on its two sockets. Requests are untrusted: their size,
/// the number of claims and the names are bounded.

/// The objects that calls use. Shared, because calls can end after the server.
struct DriverBackend {
  std::string driver;
  std::shared_ptr<ClaimService> claims;
  std::shared_ptr<DriverObserver> observer;
  std::shared_ptr<PendingCalls> pending = nullptr;  ///< lists the calls about claims; may be null
};

/// The NodeWatchResources streams of one server, of both versions.
using HealthStreams = LatestStreams<HealthList>;
/// Returns events that report to the observer, and the number of open streams also to `on_change`.
HealthStreams::Events HealthStreamEvents(std::shared_ptr<DriverObserver> observer,
                                         std::function<void(int open)> on_change);

/// Returns the methods of the socket of a driver: DRAPlugin v1 and v1beta1, which ask the
/// ClaimService, and DRAResourceHealth v1 and v1alpha1, which send the health of devices. Every
/// claim of a request has an entry in the response. `streams` outlives the server that calls them.
RpcHandlers DriverHandlers(const DriverBackend& backend, HealthStreams& streams);

/// Called on the thread of the RpcServer whenever the kubelet reports that it registered the
/// driver, or why not: printable and bounded. Must not block.
using OnDriverRegistration = std::function<void(const Status& status)>;

/// Returns the methods of the registration socket of a driver. The kubelet finds the socket,
/// requests the name, the endpoint and the versions of the driver, connects to the endpoint, and
/// reports the result. It does so again after each of its restarts.
///
/// `endpoint`, an absolute path, must already be served.
RpcHandlers RegistrationHandlers(const DriverBackend& backend, std::string endpoint,
                                 OnDriverRegistration on_status);

}  // namespace patchbay
