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
#include "kubelet_sim/options.h"
#include "kubelet_sim/resource_view.h"

namespace patchbay {

/// What a container got.
struct Admitted {
  /// In the random order of the Allocate request. Empty for a resource that is not `known`: the
  /// kubelet lets such a pod run without devices.
  std::vector<std::string> device_ids;
  v1beta1::ContainerAllocateResponse response;
  bool reused = false;  ///< from an earlier admission of the same container, without an Allocate
};

/// What Register does instead of its work.
enum class RegisterFault {
  kNone,
  kNeverDial,      ///< answers OK, then silence
  kUnimplemented,  ///< another service or a very old kubelet sits on the socket
  kUnknownError,   ///< UNKNOWN with the given text
  kHang,           ///< no answer until the fault is changed or the caller gives up
};

/// A kubelet's device manager, as far as a device plugin can tell: it serves Registration on
/// kubelet.sock, dials plugins back, watches their lists, accounts for devices and admits pods.
/// It behaves as kubelets 1.19 to 1.37 do, their bugs included (the duplicate registrations and the
/// "zombie" streams of kSync), and not as a plugin might wish.
///
/// All functions may be called from any thread; Start, Stop, Crash and Restart one at a time. None
/// holds a lock while a plugin is called. The destructor ends whatever is going on within a second,
/// also when a plugin hangs, and leaves the directory as Stop does.
class KubeletSim {
 public:
  /// Fails with kInvalid if the path of kubelet.sock would exceed the 107 bytes of a socket path.
  /// Nothing is touched before Start.
  static Result<std::unique_ptr<KubeletSim>> Create(KubeletSimOptions options);
  ~KubeletSim();
  KubeletSim(const KubeletSim&) = delete;
  KubeletSim& operator=(const KubeletSim&) = delete;

  /// Reads the checkpoint, makes the directory, cleans it up, binds kubelet.sock and serves. A
  /// resource in the checkpoint comes back with 0 devices and a stopped endpoint. Fails with
  /// kUnavailable where the file system refuses, kPrecondition when it is running.
  Status Start();
  /// Ends streams and connections and unlinks kubelet.sock. What was known is forgotten, but for
  /// the checkpoint and the log of calls. Does nothing when not running.
  void Stop();
  /// As if killed: connections break unanswered and kubelet.sock stays behind, the same inode,
  /// where connecting gets ECONNREFUSED.
  void Crash();
  /// Stop and Start.
  Status Restart();
  bool Running() const;

  const std::string& directory() const;
  const std::string& socket_path() const;

  // --- what it knows ---

  /// Nothing for a resource of which no plugin was connected since Start and which is not in the
  /// checkpoint, and for all while not running.
  std::optional<ResourceView> View(const std::string& resource) const;
  /// The names for which View has something, sorted.
  std::vector<std::string> Resources() const;
  std::vector<RegisterCall> RegisterCalls() const;
  /// Calls of the PodResources API that came in, whatever became of them. Kept over restarts.
  std::size_t PodResourcesCalls() const;

  /// Waits until `predicate` holds, for at most `timeout`; returns whether it does. The predicate
  /// is evaluated on the calling thread, without a lock, at first and after every change of state
  /// (calls, lists, ends of streams, the end of a grace period, admissions); it may call anything.
  bool Await(const std::function<bool()>& predicate, std::chrono::milliseconds timeout) const;

  // --- pods ---

  /// Chooses `n` devices and allocates them for a container, as kubelets do at admission: with
  /// GetPreferredAllocation if the plugin offers it, and one Allocate. A container that has its
  /// devices gets them again. Admissions go one after the other, as on the kubelet's own loop, and
  /// have no deadline. `numa` is the hint of a topology manager; empty without one.
  ///
  /// Fails with the message of the pod's status, "UnexpectedAdmissionError: Allocate failed due to
  /// ..., which is unexpected": kPrecondition where the kubelet refuses, kUnavailable where the
  /// plugin or the checkpoint fails or the kubelet is stopped meanwhile.
  Result<Admitted> Admit(const std::string& pod, const std::string& container,
                         const std::string& resource, int n,
                         const std::set<std::int64_t>& numa = {});
  /// Starts a container that was admitted, or starts it again: with PreStartContainer for each of
  /// its resources whose plugin has that option in effect, before a deadline, whether or not other
  /// pods are being admitted. After a restart of the kubelet nothing is in effect until the plugin
  /// registers.
  ///
  /// Fails with the message of the waiting container, "CreateContainerConfigError: ...":
  /// kPrecondition where the kubelet has no plugin to ask (one that is gone for longer than the
  /// grace period keeps containers from starting even if it never wanted to be asked), kUnavailable
  /// where the plugin fails.
  Status StartContainer(const std::string& pod, const std::string& container);
  /// The pod is over; its devices are free again.
  void Release(const std::string& pod);

  // --- faults ---

  /// Sets what happens to Register calls from now on, of one resource or ("") of all others. Calls
  /// that hang because of an earlier kHang go on under the new setting. Kept over restarts.
  void SetRegisterFault(RegisterFault fault, const std::string& resource = "",
                        const std::string& text = "fault injected");
  /// Sets what the PodResources server does from now on. Kept over restarts. Fails with
  /// kUnavailable when its socket cannot be made.
  Status SetPodResourcesFault(PodResourcesFault fault);
  /// Cancels the streams of the resource that feed its tables, as a broken connection would.
  void DropStreams(const std::string& resource);
  /// Does to the current plugin what the end of a forgotten older stream does in kSync: disconnects
  /// it and marks its devices unhealthy.
  void ZombieCancel(const std::string& resource);
  /// Opens `n` more ListAndWatch streams to the current endpoint, each on a connection of its own,
  /// which feed no table. With `reading` false they take nothing in until ResumeReading, and give
  /// the plugin no flow-control credit beyond the least that HTTP/2 lets them.
  /// Fails with kPrecondition when there is no connected endpoint.
  Status OpenExtraStreams(const std::string& resource, int n, bool reading = true);
  void CloseExtraStreams(const std::string& resource);
  /// All streams of the resource, now open or opened later, stop reading (the message under way is
  /// still taken), or read again.
  void StopReading(const std::string& resource);
  void ResumeReading(const std::string& resource);

 private:
  class Impl;
  explicit KubeletSim(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace patchbay
