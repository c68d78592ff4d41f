#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "deviceplugin.pb.h"
#include "sim/kubelet/options.h"
#include "sim/kubelet/resource_view.h"

namespace patchbay {

/// The result of an admission for a container.
struct Admitted {
  /// In the random order of the Allocate request. Empty if the resource is not `known`: the kubelet
  /// runs such a pod without devices.
  std::vector<std::string> device_ids;
  v1beta1::ContainerAllocateResponse response;
  bool reused = false;  ///< from an earlier admission of the same container, without an Allocate
};

/// A fault of Register.
enum class RegisterFault {
  kNone,
  kNeverDial,      ///< responds OK and never dials
  kNeverWatch,     ///< dials, asks for options, responds OK and disconnects without a stream, like
                   ///< kSync when an older stream ends at that moment; kAsync: no fault
  kUnimplemented,  ///< another service, or a very old kubelet
  kUnknownError,   ///< UNKNOWN with the given text
  kHang,           ///< no response until the fault changes or the call is cancelled
};

/// A simulation of the kubelet's device manager: it serves Registration on kubelet.sock, dials
/// plugins, reads their device lists, accounts for devices and admits pods. It behaves like
/// kubelets 1.19 to 1.37, including their bugs (duplicate registrations and the "zombie" streams of
/// kSync).
///
/// Thread-safe, except that only one of Start, Stop, Crash and Restart may run at a time. Does not
/// hold a lock while it calls a plugin. The destructor ends all operations within a second, even if
/// a plugin hangs, and leaves the directory like Stop.
class KubeletSim {
 public:
  /// Fails with kInvalid if the path of kubelet.sock would exceed the 107 bytes of a socket path.
  /// Accesses no files before Start.
  static Result<std::unique_ptr<KubeletSim>> Create(KubeletSimOptions options);
  ~KubeletSim();
  KubeletSim(const KubeletSim&) = delete;
  KubeletSim& operator=(const KubeletSim&) = delete;

  /// Reads the checkpoint, creates the directory, cleans it up, binds kubelet.sock and serves. A
  /// resource in the checkpoint has 0 devices and a stopped endpoint. Fails with kUnavailable for a
  /// file system error, and with kPrecondition if it is running.
  Status Start();
  /// Ends streams and connections and unlinks kubelet.sock. Keeps only the checkpoint and the log
  /// of calls. Does nothing if it is not running.
  void Stop();
  /// Simulates SIGKILL: connections break without a response, and kubelet.sock remains with the
  /// same inode, so that connecting to it fails with ECONNREFUSED.
  void Crash();
  /// Stop and Start.
  Status Restart();
  bool Running() const;

  const std::string& directory() const;
  const std::string& socket_path() const;

  // --- state ---

  /// Returns the view of a resource. Returns nothing if no plugin has connected for it since Start
  /// and it is not in the checkpoint, or while not running.
  std::optional<ResourceView> View(const std::string& resource) const;
  /// Returns the names of the resources that View returns, sorted.
  std::vector<std::string> Resources() const;
  std::vector<RegisterCall> RegisterCalls() const;
  /// The number of calls of the PodResources API, including failed ones. Kept across restarts.
  std::size_t PodResourcesCalls() const;

  /// Waits until `predicate` is true, for at most `timeout`. Returns whether it is. The predicate
  /// is evaluated on the calling thread, without a lock, immediately and after every change of
  /// state (calls, lists, ends of streams, the end of a grace period, admissions). It can call any
  /// function.
  bool Await(const std::function<bool()>& predicate, std::chrono::milliseconds timeout) const;

  // --- pods ---

  /// Selects `n` devices and allocates them for a container, like a kubelet at admission: with
  /// GetPreferredAllocation if the plugin has that option, and one Allocate call. A container that
  /// already has its devices keeps them. Like in the kubelet, admissions run one after another and
  /// have no deadline. `numa` is the hint of the topology manager; empty if there is none.
  ///
  /// Fails with the message of the pod status, "UnexpectedAdmissionError: Allocate failed due to
  /// ..., which is unexpected": kPrecondition if the kubelet rejects the pod, kUnavailable if the
  /// plugin or the checkpoint fails or the kubelet stops.
  Result<Admitted> Admit(const std::string& pod, const std::string& container,
                         const std::string& resource, int n,
                         const std::set<std::int64_t>& numa = {});
  /// Starts or restarts an admitted container: calls PreStartContainer, with a deadline, for each
  /// of its resources whose plugin has that option. Does not wait for admissions. After a restart
  /// of the kubelet, options are unknown until the plugin registers.
  ///
  /// Fails with the message of the waiting container, "CreateContainerConfigError: ...":
  /// kPrecondition if no plugin is connected (after the grace period, a missing plugin prevents the
  /// start even if it does not have the option), kUnavailable if the plugin fails.
  Status StartContainer(const std::string& pod, const std::string& container);
  /// Sets the claims in `resources.claims` of a container, by their names in the namespace of the
  /// pod. The PodResources API reports those that KubeletSimOptions::prepared_claims returns. Kept
  /// across restarts.
  void UseClaims(const std::string& pod, const std::string& container,
                 const std::set<std::string>& claims);
  /// Removes a pod, which frees its devices; those of a kubelet that does not run, when it starts.
  void Release(const std::string& pod);

  // --- faults ---

  /// Sets the fault of Register calls from now on, for one resource or ("") for all others. Calls
  /// that hang because of an earlier kHang continue with the new fault. Kept across restarts.
  void SetRegisterFault(RegisterFault fault, const std::string& resource = "",
                        const std::string& text = "fault injected");
  /// Sets the fault of the PodResources server from now on. Kept across restarts. Fails with
  /// kUnavailable if its socket cannot be created.
  Status SetPodResourcesFault(PodResourcesFault fault);
  /// Cancels the streams of the resource that update its tables, like a lost connection.
  void DropStreams(const std::string& resource);
  /// Simulates the end of an older "zombie" stream in kSync: disconnects the current plugin and
  /// marks its devices unhealthy.
  void ZombieCancel(const std::string& resource);
  /// Opens `n` additional ListAndWatch streams to the current endpoint, each on its own connection.
  /// They do not update tables. If `reading` is false, they read nothing until ResumeReading, with
  /// the smallest flow-control window of HTTP/2. Fails with kPrecondition if no endpoint is
  /// connected.
  Status OpenExtraStreams(const std::string& resource, int n, bool reading = true);
  void CloseExtraStreams(const std::string& resource);
  /// Stops or resumes reading on all current and later streams of the resource. A message that is
  /// being received is still read.
  void StopReading(const std::string& resource);
  void ResumeReading(const std::string& resource);

 private:
  class Impl;
  explicit KubeletSim(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace patchbay
