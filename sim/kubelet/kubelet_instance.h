#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/kubelet/admission.h"
#include "sim/kubelet/kubelet_sim.h"
#include "sim/kubelet/plugin_client.h"
#include "sim/kubelet/pod_resources_server.h"
#include "sim/kubelet/registration_server.h"
#include "sim/kubelet/registry.h"
#include "sim/kubelet/sim_state.h"
#include "sim/kubelet/thread_group.h"

namespace patchbay {

/// One run of the built-in kubelet, from its start until it stops or is killed. It performs the
/// calls; Registry, admission and registration_rules decide. All members are protected by the mutex
/// of the SimState, which is never held during I/O or a call.
///
/// The functions are those of KubeletSim of the same names; RemoveEndedPods is for Release.
class KubeletInstance {
 public:
  /// All fields of `options` are set. Fails like KubeletSim::Start.
  static Result<std::shared_ptr<KubeletInstance>> Begin(const KubeletSimOptions& options,
                                                        std::string socket_path,
                                                        std::shared_ptr<SimState> state);
  ~KubeletInstance();

  /// Stops everything and waits until it has stopped. Leaves the socket file behind.
  void End();

  // Called with the mutex of the state held.
  void Expire();
  void Expire(const std::string& resource);
  std::optional<Registry::Time> NextExpiry() const { return registry_.NextExpiry(); }
  std::optional<ResourceView> View(const std::string& resource) const;
  std::vector<std::string> Resources() const { return registry_.Resources(); }

  // Called without it.
  Result<Admitted> Admit(const ContainerKey& key, std::size_t wanted,
                         const std::set<std::int64_t>& numa);
  Status StartContainer(const std::string& pod, const std::string& container);
  /// Frees the devices of the pods in SimState::ended_pods.
  void RemoveEndedPods();
  Status SetPodResourcesFault(PodResourcesFault fault);
  void DropStreams(const std::string& resource);
  void ZombieCancel(const std::string& resource);
  Status OpenExtraStreams(const std::string& resource, int n, bool reading);
  void CloseExtraStreams(const std::string& resource);
  void SetReading(const std::string& resource, bool reading);

 private:
  using Client = std::shared_ptr<PluginClient>;

  /// The counters and streams of a resource.
  struct Activity {
    std::map<Client, std::size_t> streams;  ///< and the number of lists received on each
    std::size_t connections = 0;
    std::size_t registrations = 0;
    std::size_t lists = 0;
    Registry::Time last_list;
    std::string stream_error;
    struct Extra {
      Client client;
      ExtraStreamView view;
    };
    std::vector<std::shared_ptr<Extra>> extras;
    bool reading = true;
  };

  KubeletInstance(const KubeletSimOptions& options, std::shared_ptr<SimState> state);

  // Registration; each call has its own thread.
  void OnRegister(std::shared_ptr<PendingRegister> call);
  grpc::Status Register(PendingRegister& call);
  std::optional<grpc::Status> ApplyFault(PendingRegister& call);
  Status Connect(const std::string& resource, const std::string& path, ClientId id,
                 std::optional<SimPluginOptions> options);
  void Answer(PendingRegister& call, std::size_t index, const grpc::Status& status);

  void Watch(const std::string& resource, const std::string& path, ClientId id,
             const Client& client);
  void OnList(const std::string& resource, const Client& client,
              const std::vector<SimDevice>& list);
  Client NewClient(const std::string& path, ClientId id);
  Client FindClient(std::optional<ClientId> id) const;
  void RunExtra(std::shared_ptr<Activity::Extra> extra);

  // Admission, with one_admission_ held.
  Result<Admitted> Admitting(const ContainerKey& key, std::size_t wanted,
                             const std::set<std::int64_t>& numa);
  Result<std::vector<std::string>> Prefer(const std::string& resource, const DeviceChoice& choice);
  Result<v1beta1::ContainerAllocateResponse> Allocate(const std::string& resource,
                                                      const std::vector<std::string>& ids);
  Status PreStart(const std::string& resource, const std::vector<std::string>& ids);
  std::set<std::string> InUse(const std::string& resource) const;
  const ContainerDevices* Held(const ContainerKey& key) const;

  /// Called with the mutex of the state held.
  void RemovePod(const std::string& pod);

  /// Writes the current state. One write serves all requests made before it began.
  Status SaveCheckpoint();
  Status ServePodResources();

  const KubeletSimOptions options_;
  const std::shared_ptr<SimState> state_;

  Registry registry_;
  PodDevices pods_;
  std::map<std::string, Activity> activity_;
  std::map<ClientId, Client>
      clients_;  ///< all dialed plugins, including those that a kubelet leaks
  ClientId last_client_ = 0;
  bool ending_ = false;

  std::mutex one_admission_;  ///< taken before the state's
  std::mt19937_64 random_;    ///< under one_admission_

  std::mutex one_save_;             ///< taken before the state's
  std::uint64_t saves_asked_ = 0;   ///< under the state's mutex
  std::uint64_t saves_served_ = 0;  ///< by the last write; under one_save_
  Status last_save_;                ///< under one_save_
  ThreadGroup threads_;
  std::unique_ptr<RegisterServer> server_;
  std::shared_ptr<PodResourcesServer> pod_resources_;  ///< null if it is not served
};

}  // namespace patchbay
