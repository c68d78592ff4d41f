// Registration and health. Each socket has a thread, which registers the plugin, with a back-off,
// and then follows the state of the connection to its endpoint; a second thread watches the health
// of its devices while it is connected, whether or not the instance is in use. A plugin that fails
// after it was added to the drivers is not retried until its socket is re-created, as in the
// kubelet.
//
// A channel is stored in its plugin under the mutex before it is used, so that OnRemoved and End
// can close it and its thread ends.

#include "sim/kubelet/dra_run.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "sim/kubelet/checkpoint.h"
#include "sim/kubelet/dra_client.h"

namespace patchbay {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr char kPluginRegistry[] = "plugins_registry";
/// The maximum of the kubelet's exponential back-off.
constexpr std::chrono::milliseconds kMaxRetryDelay{122'000};

std::shared_ptr<PluginChannel> NewPluginChannel(const std::string& socket) {
  return std::make_shared<PluginChannel>(socket, "localhost");
}

}  // namespace

DraRun::DraRun(const DraSimOptions& options, std::shared_ptr<DraState> state)
    : options_(options), state_(std::move(state)), drivers_(options.wipe_delay) {}

DraRun::~DraRun() { End(); }

Result<std::shared_ptr<DraRun>> DraRun::Begin(const DraSimOptions& options,
                                              std::shared_ptr<DraState> state) {
  std::shared_ptr<DraRun> run(new DraRun(options, std::move(state)));
  // A kubelet without a valid checkpoint starts without claims.
  run->claims_ =
      DraClaims::Decode(ReadStateFile(options.kubelet_root, kDraStateName)).value_or(DraClaims());
  // The kubelet does this in the background, and usually before the first plugin is registered.
  options.on_wipe("");
  DraRun* const raw = run.get();
  run->threads_.Spawn([raw] { raw->RunWipes(); });
  run->watcher_ = TRY(PluginWatcher::Start(
      Format("{}/{}", options.kubelet_root, kPluginRegistry),
      {.found = [raw](const std::string& socket) { raw->OnFound(socket); },
       .removed = [raw](const std::string& socket) { raw->OnRemoved(socket); }}));
  return run;
}

void DraRun::End() {
  watcher_.reset();
  {
    const std::lock_guard lock(state_->mutex);
    ending_ = true;
    for (const auto& [socket, plugin] : plugins_) {
      if (plugin->registration) plugin->registration->Close();
      if (plugin->channel) plugin->channel->Close();
    }
    state_->Changed();
  }
  threads_.Join();
  const std::lock_guard saves_are_over(one_save_);
}

std::vector<DraInstanceView> DraRun::Instances(const std::string& driver) const {
  const auto in_use = drivers_.InUse(driver);
  std::vector<DraInstanceView> views;
  for (const DraInstance& instance : drivers_.Instances(driver)) {
    const auto plugin = std::find_if(plugins_.begin(), plugins_.end(), [&](const auto& entry) {
      return entry.second->id == instance.id;
    });
    views.push_back({.socket = plugin == plugins_.end() ? "" : plugin->first,
                     .endpoint = instance.endpoint,
                     .services = instance.services,
                     .connected = instance.connected,
                     .in_use = in_use == instance.id});
  }
  return views;
}

std::vector<std::string> DraRun::Sockets() const {
  std::vector<std::string> sockets;
  sockets.reserve(plugins_.size());
  for (const auto& [socket, plugin] : plugins_) sockets.push_back(socket);
  return sockets;
}

// --- registration ---

void DraRun::OnFound(const std::string& socket) {
  auto plugin = std::make_shared<Plugin>();
  plugin->socket = socket;
  {
    const std::lock_guard lock(state_->mutex);
    plugins_[socket] = plugin;
    state_->Changed();
  }
  threads_.Spawn([this, plugin] { RunPlugin(plugin); });
}

void DraRun::OnRemoved(const std::string& socket) {
  const std::lock_guard lock(state_->mutex);
  const auto found = plugins_.find(socket);
  if (found == plugins_.end()) return;
  const PluginPtr plugin = found->second;
  plugins_.erase(found);
  plugin->removed = true;
  if (plugin->registration) plugin->registration->Close();
  if (plugin->id != 0) {
    plugin->channel->Close();
    drivers_.Remove(plugin->driver, plugin->id, SteadyClock::now());
  }
  state_->Changed();
}

void DraRun::RunPlugin(const PluginPtr& plugin) {
  std::chrono::milliseconds delay = options_.retry_delay;
  while (AwaitDial(plugin)) {
    std::uint64_t fault_version = 0;
    {
      const std::lock_guard lock(state_->mutex);
      fault_version = state_->fault_version;
    }
    const Attempt attempt = Register(plugin);
    {
      const std::lock_guard lock(state_->mutex);
      if (Ended(*plugin)) return;
      state_->registrations.push_back({plugin->socket, attempt.error});
      state_->Changed();
    }
    if (!attempt.retry) break;
    if (!Pause(plugin, delay, [&] { return state_->fault_version != fault_version; })) return;
    delay = std::min(2 * delay, kMaxRetryDelay);
  }
  WatchConnection(plugin);
}

/// Waits while the fault prevents dialing. Returns false if the plugin ends.
bool DraRun::AwaitDial(const PluginPtr& plugin) {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(
      lock, [&] { return Ended(*plugin) || state_->fault != DraRegistrationFault::kNeverDial; });
  return !Ended(*plugin);
}

bool DraRun::Pause(const PluginPtr& plugin, std::chrono::milliseconds delay,
                   const std::function<bool()>& wake) {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait_for(lock, delay, [&] { return Ended(*plugin) || wake(); });
  return !Ended(*plugin);
}

DraRun::Attempt DraRun::Register(const PluginPtr& plugin) {
  const Channel channel = NewPluginChannel(plugin->socket);
  std::optional<std::string> rejection;
  {
    const std::lock_guard lock(state_->mutex);
    plugin->registration = channel;
    if (Ended(*plugin)) channel->Close();
    if (state_->fault == DraRegistrationFault::kReject) rejection = state_->fault_text;
  }
  if (const Status dialed = channel->Dial(options_.dial_timeout); !dialed) {
    return {Format("RegisterPlugin error -- dial failed at socket {}, err: {}", plugin->socket,
                   dialed.error().message),
            true};
  }
  auto info = GetPluginInfo(*channel, options_.info_timeout);
  if (!info) {
    return {Format("RegisterPlugin error -- failed to get plugin info using RPC GetInfo at socket "
                   "{}, err: {}",
                   plugin->socket, info.error().message),
            true};
  }
  if (info->endpoint.empty()) info->endpoint = plugin->socket;
  const auto services = CheckPluginInfo(options_.profile, plugin->socket, *info);
  Attempt attempt;
  if (rejection || !services) {
    attempt = {rejection ? *rejection : services.error().message, true};
  } else {
    attempt.error = Connect(plugin, *info, *services);
  }
  // The plugin is notified after it was added, so that its status is that of the kubelet.
  const Status notified = NotifyRegistration(*channel, attempt.error, options_.notify_timeout);
  if (!notified) {
    attempt.error = Format(
        "RegisterPlugin error -- failed to send registration status at socket "
        "{}, err: {}: {}",
        plugin->socket, attempt.error, notified.error().message);
  }
  return attempt;
}

/// Adds the plugin to the drivers. Returns the error for the plugin, or "".
std::string DraRun::Connect(const PluginPtr& plugin, const SimPluginInfo& info,
                            DraServices services) {
  const std::lock_guard lock(state_->mutex);
  if (Ended(*plugin)) return "the plugin was removed";
  const DraInstanceId id = ++last_id_;
  const Status added =
      drivers_.Add(info.name, {id, info.endpoint, services, false}, SteadyClock::now());
  if (!added) {
    return Format("RegisterPlugin error -- plugin registration failed with err: {}",
                  added.error().message);
  }
  plugin->driver = info.name;
  plugin->id = id;
  plugin->services = services;
  plugin->channel = NewPluginChannel(info.endpoint);
  if (services.health) threads_.Spawn([this, plugin] { RunHealth(plugin); });
  state_->Changed();
  return "";
}

void DraRun::WatchConnection(const PluginPtr& plugin) {
  // Without it, the plugin was not added. Set by this thread.
  if (!plugin->channel) return;
  auto last = GRPC_CHANNEL_IDLE;
  while (const auto next = plugin->channel->AwaitChange(last)) {
    last = *next;
    const std::lock_guard lock(state_->mutex);
    if (Ended(*plugin)) return;
    drivers_.SetConnected(plugin->driver, plugin->id, last == GRPC_CHANNEL_READY,
                          SteadyClock::now());
    state_->Changed();
  }
}

// --- health ---

bool DraRun::IsConnected(const Plugin& plugin) const {
  const auto instances = drivers_.Instances(plugin.driver);
  return std::any_of(instances.begin(), instances.end(),
                     [&](const DraInstance& i) { return i.id == plugin.id && i.connected; });
}

void DraRun::RunHealth(const PluginPtr& plugin) {
  while (true) {
    {
      std::unique_lock lock(state_->mutex);
      state_->changed.wait(lock, [&] { return Ended(*plugin) || IsConnected(*plugin); });
      if (Ended(*plugin)) return;
    }
    WatchHealthOnce(plugin);
    if (!Pause(plugin, options_.health_reopen_delay, [] { return false; })) return;
  }
}

void DraRun::WatchHealthOnce(const PluginPtr& plugin) {
  // A kubelet that cannot open the stream clears nothing; only a stream that ends does. `connected`
  // may be outdated.
  if (plugin->channel->channel()->GetState(false) != GRPC_CHANNEL_READY) return;
  PluginChannel::Call call(*plugin->channel, PluginChannel::Call::Kind::kStream);
  WatchHealth(*plugin->channel, *plugin->services.health, call,
              [&](const std::vector<SimDeviceHealth>& list) {
                const std::lock_guard lock(state_->mutex);
                if (Ended(*plugin)) return;
                state_->health.Update(plugin->driver, list, options_.clock());
                state_->Changed();
              });
  const std::lock_guard lock(state_->mutex);
  // The kubelet keeps health by driver, so this is also that of the other instances.
  if (ending_) return;
  state_->health.Clear(plugin->driver);
  state_->Changed();
}

// --- ResourceSlices ---

void DraRun::RunWipes() {
  std::unique_lock lock(state_->mutex);
  while (!ending_) {
    const std::vector<std::string> due = drivers_.TakeDueWipes(SteadyClock::now());
    if (!due.empty()) {
      lock.unlock();
      for (const std::string& driver : due) options_.on_wipe(driver);
      lock.lock();
      continue;
    }
    if (const auto next = drivers_.NextWipe()) {
      state_->changed.wait_until(lock, *next);
    } else {
      state_->changed.wait(lock);
    }
  }
}

}  // namespace patchbay
