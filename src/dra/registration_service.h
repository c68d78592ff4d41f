#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "dra/driver_observer.h"
#include "rpc/server_call.h"

namespace patchbay {

/// Called on the thread of the RpcServer whenever the kubelet reports that it registered the
/// driver, or why not: printable and bounded. Must not block.
using OnDriverRegistration = std::function<void(const Status& status)>;

/// Returns the methods of the registration socket of a driver. The kubelet finds the socket,
/// requests the name, the endpoint and the versions of the driver, connects to the endpoint, and
/// reports the result. It does so again after each of its restarts. Reports are untrusted.
///
/// `endpoint`, an absolute path, must already be served.
RpcHandlers RegistrationHandlers(std::string driver, std::string endpoint,
                                 std::shared_ptr<DriverObserver> observer,
                                 OnDriverRegistration on_status);

}  // namespace patchbay
