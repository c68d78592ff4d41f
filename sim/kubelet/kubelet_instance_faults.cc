// Faults of streams.

#include <utility>

#include "base/format.h"
#include "sim/kubelet/kubelet_instance.h"

namespace patchbay {

void KubeletInstance::DropStreams(const std::string& resource) {
  std::map<Client, std::size_t> streams;
  {
    const std::lock_guard lock(state_->mutex);
    streams = activity_[resource].streams;
  }
  for (const auto& [client, lists] : streams) client->CancelWatch();
}

void KubeletInstance::ZombieCancel(const std::string& resource) {
  Client disconnected;
  {
    const std::lock_guard lock(state_->mutex);
    if (ending_) return;
    disconnected = FindClient(registry_.Disconnect(resource, std::chrono::steady_clock::now()));
    // Marked as ended now, so that its end cannot disconnect a plugin that registers earlier.
    activity_[resource].streams.erase(disconnected);
    state_->Changed();
  }
  if (disconnected) disconnected->Close();
}

Status KubeletInstance::OpenExtraStreams(const std::string& resource, int n, bool reading) {
  for (int i = 0; i < n; ++i) {
    auto extra = std::make_shared<Activity::Extra>();
    const std::lock_guard lock(state_->mutex);
    const Registry::Endpoint* const primary = registry_.Primary(resource);
    if (ending_ || primary == nullptr || primary->stopped) {
      return Fail(ErrorKind::kPrecondition, Format("no plugin is connected for {}", resource));
    }
    extra->client = std::make_shared<PluginClient>(
        primary->path, *options_.authority, reading ? FlowCredit::kUsual : FlowCredit::kLeast);
    Activity& activity = activity_[resource];
    extra->client->SetReading(reading && activity.reading);
    clients_[++last_client_] = extra->client;
    activity.extras.push_back(extra);
    threads_.Spawn([this, extra] { RunExtra(extra); });
  }
  return {};
}

void KubeletInstance::RunExtra(std::shared_ptr<Activity::Extra> extra) {
  if (!extra->client->Dial(options_.dial_timeout)) return;
  const auto set_open = [&](bool open) {
    const std::lock_guard lock(state_->mutex);
    extra->view.open = open;
    state_->Changed();
  };
  set_open(true);
  extra->client->Watch([&](const std::vector<SimDevice>& list) {
    const std::lock_guard lock(state_->mutex);
    ++extra->view.lists;
    extra->view.devices = list;
    state_->Changed();
  });
  set_open(false);
}

void KubeletInstance::CloseExtraStreams(const std::string& resource) {
  std::vector<std::shared_ptr<Activity::Extra>> extras;
  {
    const std::lock_guard lock(state_->mutex);
    extras.swap(activity_[resource].extras);
    // Destroying the clients closes the connections.
    for (const auto& extra : extras) {
      std::erase_if(clients_, [&](const auto& entry) { return entry.second == extra->client; });
    }
    state_->Changed();
  }
  for (const auto& extra : extras) extra->client->Close();
}

void KubeletInstance::SetReading(const std::string& resource, bool reading) {
  const std::lock_guard lock(state_->mutex);
  Activity& activity = activity_[resource];
  activity.reading = reading;
  for (const auto& [client, lists] : activity.streams) client->SetReading(reading);
  for (const auto& extra : activity.extras) extra->client->SetReading(reading);
  state_->Changed();
}

}  // namespace patchbay
