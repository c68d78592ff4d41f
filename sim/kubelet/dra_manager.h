#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/kubelet/dra_claims.h"
#include "sim/kubelet/dra_health.h"
#include "sim/kubelet/dra_options.h"
#include "sim/kubelet/dra_rules.h"

namespace patchbay {

/// A registered instance of a DRA driver at a point in time.
struct DraInstanceView {
  std::string socket;    ///< its registration socket
  std::string endpoint;  ///< the socket for claims
  DraServices services;
  bool connected = false;
  bool in_use = false;  ///< the kubelet calls this instance about claims

  bool operator==(const DraInstanceView&) const = default;
};

/// An attempt to register the plugin at a socket that has ended.
struct DraRegistration {
  std::string socket;
  std::string error;  ///< empty: registered, and the plugin was notified

  bool operator==(const DraRegistration&) const = default;
};

/// A fault of the registration of plugins.
enum class DraRegistrationFault {
  kNone,
  kNeverDial,  ///< the kubelet ignores the sockets that it finds
  kReject,     ///< the plugin is notified of an error
};

/// A simulation of the kubelet's plugin manager and DRA manager: it finds the registration sockets
/// of drivers, registers and connects to them, prepares and unprepares claims for pods, watches the
/// health of devices, and has the ResourceSlices of the node deleted. It behaves like kubelets 1.32
/// and later.
///
/// Thread-safe, except that only one of Start, Stop and Restart may run at a time. Does not hold a
/// lock while it calls a driver. The destructor ends all operations within a second, even if a
/// driver hangs.
class DraManager {
 public:
  explicit DraManager(DraSimOptions options);
  ~DraManager();
  DraManager(const DraManager&) = delete;
  DraManager& operator=(const DraManager&) = delete;

  /// Reads dra_manager_state, has all ResourceSlices of the node deleted, and finds plugins. Claims
  /// are not prepared. Fails with kUnavailable for a file system error, and with kPrecondition if
  /// it is running.
  Status Start();
  /// Cancels all calls and disconnects from all drivers. Keeps dra_manager_state, the health of
  /// devices, the log of registrations and the fault. Does nothing if it is not running.
  void Stop();
  /// Stop and Start.
  Status Restart();

  // --- state ---

  /// Returns the registration sockets that the kubelet has found and that still exist, sorted.
  std::vector<std::string> Sockets() const;
  /// Returns the instances of a driver, the oldest one first.
  std::vector<DraInstanceView> Instances(const std::string& driver) const;
  /// Returns the attempts to register, in the order of their ends. Kept across restarts.
  std::vector<DraRegistration> Registrations() const;
  /// Returns the claims of all pods; nothing while not running.
  std::vector<DraClaims::Entry> Claims() const;
  /// Returns the health of the devices of a driver, ordered by pool and device: the last report of
  /// any of its instances. Empty after the end of the stream of any instance, when all devices are
  /// unknown until the next report.
  std::vector<SimDeviceHealth> Health(const std::string& driver) const;

  /// Waits until `predicate` is true, for at most `timeout`. Returns whether it is. The predicate
  /// is evaluated on the calling thread, without a lock, immediately and after every change of
  /// state except the expiry of health. It can call any function.
  bool Await(const std::function<bool()>& predicate, std::chrono::milliseconds timeout) const;

  // --- pods ---

  /// Prepares the claims of a pod, like a kubelet before it creates containers: one call for each
  /// driver, with the claims that are not prepared for another pod. Returns the devices of all its
  /// claims. The pod keeps its claims if this fails; a kubelet repeats the call.
  ///
  /// Fails with the message of the pod's event, "prepare dynamic resources: ...": kPrecondition if
  /// the driver is not registered or a claim of the same name exists, otherwise kUnavailable.
  Result<SimPreparedClaims> PrepareClaims(const std::string& pod,
                                          const std::vector<SimClaim>& claims);
  /// Removes the pod from its claims, and unprepares those that no other pod has. The pod keeps the
  /// claims that fail. Fails like PrepareClaims, with "unprepare dynamic resources: ...".
  Status UnprepareClaims(const std::string& pod);
  /// Unprepares the claims of all pods except `running`, as the kubelet does every minute. Returns
  /// the first error.
  Status Reconcile(const std::set<std::string>& running);

  // --- faults ---

  /// Sets the fault of registrations from now on. Plugins that are waiting for the next attempt are
  /// registered at once. Kept across restarts. `text` is the error of kReject.
  void SetRegistrationFault(DraRegistrationFault fault, const std::string& text = "fault injected");
  /// Cancels the pending calls about claims to all instances of a driver.
  void CancelCalls(const std::string& driver);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace patchbay
