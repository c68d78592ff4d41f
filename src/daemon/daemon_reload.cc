#include <map>

#include "base/format.h"
#include "daemon/config_source.h"
#include "daemon/daemon.h"

namespace patchbay {
namespace {

/// More resources than this are told in one line.
constexpr std::size_t kMostLogged = 20;

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

void LogPlan(Log& log, const Plan& plan) {
  std::map<Reach, std::size_t> counts;
  for (const ResourceStep& step : plan.resources) ++counts[step.reach];
  const std::size_t touched = plan.resources.size() - counts[Reach::kNothing];
  log.Info("configuration reloaded",
           {{"resources", plan.resources.size() - counts[Reach::kGone]},
            {"changed", touched - counts[Reach::kNew] - counts[Reach::kGone]},
            {"new", counts[Reach::kNew]},
            {"gone", counts[Reach::kGone]}});
  for (const ResourceStep& step : plan.resources) {
    if (touched > kMostLogged || step.reach == Reach::kNothing) continue;
    log.Info(
        "resource of the configuration",
        {{"resource", step.resource}, {"reach", Name(step.reach)}, {"keys", Joined(step.keys)}});
  }
  std::vector<std::string> later;
  for (const DaemonStep& step : plan.daemon) {
    if (!step.is_live) later.push_back(step.key);
  }
  if (later.empty()) return;
  log.Warning(
      "keys of [daemon] that cannot change in a running process were left as they were; "
      "restart patchbay for them",
      {{"keys", Joined(later)}});
}

}  // namespace

void Daemon::Reload(Loaded loaded) {
  LogDiagnostics(log_, loaded.diagnostics);
  if (!loaded.model) return RefuseReload("it has mistakes");
  next_ = std::move(loaded.model);
  ReloadNext();
}

void Daemon::RefuseReload(const std::string& reason) {
  metrics_.ConfigLoaded(false, std::chrono::system_clock::now());
  log_.Error("the configuration was refused; the last good one stays in force",
             {{"reason", reason}});
}

void Daemon::ReloadNext() {
  if (!next_ || !retiring_.empty() || stopping_) return;
  const Model model = std::move(*next_);
  next_.reset();
  const ResourceSpecs specs = ResourcesFor(model, options_.node_name);
  const Plan plan = PlanReload(spec_, specs_, model.daemon, specs);
  if (const Status served = Serve(specs, plan); !served) {
    return RefuseReload(served.error().message);
  }
  ApplyLive(model.daemon);
  metrics_.ConfigLoaded(true, std::chrono::system_clock::now());
  LogPlan(log_, plan);
}

void Daemon::ApplyLive(const DaemonSpec& spec) {
  if (spec_.rescan != spec.rescan) {
    spec_.rescan = spec.rescan;
    kubelet_dir_->SetPoll(spec.rescan);
    ScheduleRescan();
  }
  if (spec_.max_probes != spec.max_probes) {
    spec_.max_probes = spec.max_probes;
    probes_.SetMostAtOnce(spec.max_probes);
  }
  if (spec_.log_level != spec.log_level) {
    spec_.log_level = spec.log_level;
    log_.SetLevel(spec.log_level);
  }
  spec_.device_metrics = spec.device_metrics;
  metrics_.SetDeviceMetrics(spec.device_metrics);
}

/// Brings the resources to what `specs` say. Fails before anything is touched.
Status Daemon::Serve(const ResourceSpecs& specs, const Plan& plan) {
  std::map<std::string, Reach> reach;
  std::map<std::string, Cancellation> cancellations;
  for (const ResourceStep& step : plan.resources) {
    reach.emplace(step.resource, step.reach);
    if (step.reach != Reach::kNew) continue;
    cancellations.emplace(step.resource, TRY(Cancellation::Create()));
  }

  std::map<std::string, std::unique_ptr<ResourceController>> had;
  for (auto& resource : std::exchange(resources_, {})) {
    const std::string& name = resource->name();
    if (reach.at(name) == Reach::kGone) {
      Retire(std::move(resource));
    } else {
      had.emplace(name, std::move(resource));
    }
  }
  specs_ = specs;
  for (const auto& spec : specs) {
    const auto fresh = cancellations.find(spec->name);
    resources_.push_back(
        fresh == cancellations.end()
            ? std::move(had.at(spec->name))
            : MakeResource({spec, OwnersBefore(*spec, specs)}, std::move(fresh->second)));
    if (fresh != cancellations.end()) continue;
    if (reach.at(spec->name) == Reach::kNothing) continue;
    resources_.back()->Apply({spec, OwnersBefore(*spec, specs)});
  }
  const bool hears_kernel = WatchKernel();  // before the first look, so that nothing is missed
  for (const auto& resource : resources_) {
    if (cancellations.contains(resource->name())) {
      resource->Scan();
      if (kubelet_) resource->OnKubelet(*kubelet_);
    } else if (hears_kernel && resource->DependsOnSysfs()) {
      resource->Scan();
    }
    if (reach.at(resource->name()) != Reach::kNothing) TellHolders(*resource);
  }
  UpdateReadiness();
  sharing_.Compare();
  return {};
}

std::unique_ptr<ResourceController> Daemon::MakeResource(ResourceController::Entry entry,
                                                         Cancellation cancellation) {
  const ResourceController::World world{
      scanner_,
      ends_,
      host_,
      device_dirs_.get(),
      probes_,
      ResourcePlugin::World{loop_, servers_, log_, AllocationOn(host_, options_.node_name),
                            spec_.kubelet_dir, options_.run, servers_made_}};
  auto observer = metrics_.AddResource(entry.spec->name);
  return std::make_unique<ResourceController>(
      world, std::move(entry), std::make_shared<const Cancellation>(std::move(cancellation)),
      std::move(observer),
      ResourceController::Events{
          .on_scanned =
              [this](bool directories_changed) {
                if (directories_changed || std::exchange(watches_lost_, false)) WatchDirectories();
              },
          .on_published = [this] { sharing_.Compare(); },
          .on_registered = [this] { UpdateReadiness(); },
          .on_kubelet_answers = [this](bool answers) { metrics_.SetKubeletUp(answers); },
          .on_granted =
              [this] {
                if (pod_resources_) pod_resources_->PollSoon();
              },
          .ask_holders =
              [this](PodResources::Asked asked) {
                if (!pod_resources_) return asked(false);
                pod_resources_->AskNow(std::move(asked));
              }});
}

/// Its name is free again once the kubelet had a moment to see that the stream is over.
void Daemon::Retire(std::unique_ptr<ResourceController> resource) {
  const auto at = retiring_.insert(retiring_.end(), {std::move(resource)});
  at->resource->Retire([this, at] {
    at->settled = loop_.After(kSettle, [this, at] {
      retiring_.erase(at);
      WatchDirectories();
      ReloadNext();
    });
  });
}

}  // namespace patchbay
