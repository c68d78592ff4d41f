// ConfigSource loads the configuration and calls OnLoaded, which creates either the daemon or, with
// --wait-for-config, a ConfigWait, which serves HTTP until there is a valid configuration. They use
// the same port, so at most one of them exists.
//
// Signals and fatal errors call Stop, a failed start calls Fail, and an exception ends Run. The
// shutdown watchdog is declared before all members that have threads, so that it is created before
// anything that may hang and destroyed after it.

#include <unistd.h>

#include <csignal>
#include <ostream>

#include "base/color.h"
#include "base/fatal.h"
#include "cli/commands.h"
#include "cli/load.h"
#include "cli/shutdown_watchdog.h"
#include "cli/version.h"
#include "daemon/config_source.h"
#include "daemon/config_wait.h"
#include "daemon/daemon.h"
#include "daemon/descriptor_need.h"
#include "os/descriptors.h"
#include "os/malloc_tuning.h"
#include "os/systemd_notify.h"

namespace patchbay {
namespace {

/// Returns whether diagnostics at start are printed with their source lines, as the other commands
/// print them: if stderr is a terminal and the log level includes warnings. Otherwise they are log
/// lines, see docs/logs.md.
bool ShowsSource(const Arguments& arguments, LogLevel level) {
  return isatty(STDERR_FILENO) != 0 && arguments.log_format == LogFormat::kText &&
         level <= LogLevel::kWarning && !arguments.wait_for_config;
}

/// Owns the daemon, or the ConfigWait that precedes it.
class Service {
 public:
  Service(const Arguments& arguments, AsioLoop& loop, Log& log, std::ostream& err)
      : arguments_(arguments),
        err_(err),
        loop_(loop),
        log_(log),
        source_(
            loop, log, {arguments.config}, [arguments] { return LoadConfig(arguments); },
            [this](Loaded loaded) { OnLoaded(std::move(loaded)); }) {}

  /// Runs the loop until shutdown and returns the exit code.
  int Run() {
    end_.SetLastAct([this] { LogTimeout(); });
    try {
      // The kubelet starts after this unit, so readiness does not wait for it.
      loop_.Post([this] {
        NotifySystemd("READY=1");
        NotifyAlive();
      });
      source_.Reload();
      loop_.Run();
    } catch (...) {
      log_.Error("fatal error", {{"reason", CurrentExceptionText()}});
      code_ = kFailed;
      end_.Begin(code_);
    }
    return code_;
  }

 private:
  Status BeginDaemon(Model model) {
    log_.SetLevel(model.daemon.log_level);
    end_.SetLastAct([this, directory = model.daemon.kubelet_dir] {
      LogTimeout();
      RemoveSocketsOf(run_, directory);
    });
    Daemon::Options options{
        .model = std::move(model),
        .node_name = NodeName(),
        .run = run_,
        .version = kVersion,
        .revision = kRevision,
        .on_fatal =
            [this](const std::string& reason) {
              log_.Error("fatal error", {{"reason", reason}});
              code_ = kFailed;
              loop_.Post([this] { Stop(); });
            },
        .config = arguments_.config,
        .diagnostics = logged_,
        .node_addresses = NodeAddresses(),
        .pod_uid = EnvironmentValue("POD_UID"),
        .cluster = ClusterConfigInPod(EnvironmentValue("KUBERNETES_SERVICE_HOST"),
                                      EnvironmentValue("KUBERNETES_SERVICE_PORT")),
        .allows_other_server = arguments_.allows_other_server};
    daemon_ = TRY(Daemon::Create(loop_, log_, std::move(options)));
    return {};
  }

  Status BeginWaiting() {
    waiting_ = TRY(ConfigWait::Create(loop_, log_,
                                      {.listen = arguments_.listen.value_or(DaemonSpec().listen),
                                       .config = arguments_.config,
                                       .version = kVersion,
                                       .revision = kRevision,
                                       .node_name = NodeName(),
                                       .diagnostics = logged_}));
    return {};
  }

  /// Starts with the result of the first load.
  void Begin(Loaded loaded) {
    const LogLevel level = loaded.model ? loaded.model->daemon.log_level
                                        : arguments_.log_level.value_or(LogLevel::kInfo);
    log_.SetLevel(level);
    if (ShowsSource(arguments_, level)) {
      log_.Flush(Log::kDrainTime);
      err_ << BriefDiagnostics(loaded.diagnostics, arguments_.config, WantsColor(STDERR_FILENO));
    } else {
      LogDiagnostics(log_, loaded.diagnostics.Sorted());
    }
    if (!loaded.model && !arguments_.wait_for_config) return Fail();
    if (loaded.model) {
      log_.Info("configuration loaded",
                {{"path", arguments_.config}, {"resources", loaded.model->resources.size()}});
    }
    logged_ = loaded.diagnostics.Sorted();
    StartOrFail(loaded.model ? BeginDaemon(std::move(*loaded.model)) : BeginWaiting());
  }

  void StartOrFail(const Status& begun) {
    if (begun) return;
    log_.Error("cannot start", {{"reason", begun.error().message}});
    Fail();
  }

  void Fail() {
    code_ = kFailed;
    loop_.Stop();
  }

  void OnLoaded(Loaded loaded) {
    if (stopping_) return;
    if (!daemon_ && !waiting_) return Begin(std::move(loaded));
    if (daemon_) {
      daemon_->Reload(std::move(loaded));
      return;
    }
    std::vector<Diagnostic> findings = loaded.diagnostics.Sorted();
    LogDiagnostics(log_, findings, logged_);
    logged_ = std::move(findings);
    if (!loaded.model) {
      log_.Warning("still waiting for a valid configuration");
      return waiting_->OnRefused(logged_);
    }
    waiting_.reset();
    StartOrFail(BeginDaemon(std::move(*loaded.model)));
  }

  void Stop() {
    if (std::exchange(stopping_, true)) return;
    NotifySystemd("STOPPING=1");
    end_.Begin(code_);
    if (!daemon_) return loop_.Stop();
    daemon_->Stop([this] { loop_.Stop(); });
  }

  void LogTimeout() {
    log_.Warning("shutdown timed out; exiting anyway");
    log_.Flush(Log::kDrainTime);
  }

  /// Notifies the watchdog of systemd, again and again, that the loop runs.
  void NotifyAlive() {
    const auto limit = SystemdWatchdogTime();
    if (!limit) return;
    NotifySystemd("WATCHDOG=1");
    next_notification_ = loop_.After(*limit / 3, [this] { NotifyAlive(); });
  }

  const Arguments& arguments_;
  std::ostream& err_;
  const std::string run_ = NewRun();
  AsioLoop& loop_;
  Log& log_;
  ShutdownWatchdog end_{{SIGTERM, SIGINT}, loop_, [this](int number) {
                          log_.Info("shutting down", {{"signal", number}});
                          Stop();
                        }};
  int code_ = kOk;
  std::vector<Diagnostic> logged_;  ///< diagnostics that were logged last
  bool stopping_ = false;
  Subscription next_notification_;
  // Installed before the first load: without a handler these signals end the process.
  const Subscription refresh_ = loop_.OnSignals({SIGUSR1}, [this](int) {
    log_.Info("rescanning devices after SIGUSR1");
    if (daemon_) daemon_->Refresh();
  });
  const Subscription reload_ = loop_.OnSignals({SIGHUP}, [this](int) {
    log_.Info("reloading the configuration after SIGHUP");
    source_.Reload();
  });
  ConfigSource source_;
  std::unique_ptr<ConfigWait> waiting_;
  std::unique_ptr<Daemon> daemon_;
};

}  // namespace

int RunDaemon(const Arguments& arguments, Streams streams) {
  LimitMallocArenas();
  std::signal(SIGPIPE, SIG_IGN);  // a closed log pipe or client must not end the process
  if (const Status enough = CheckDescriptors(0, DaemonSpec(), RaiseDescriptorLimit()); !enough) {
    return ReportFailure(enough.error(), streams);
  }
  Log log(arguments.log_level.value_or(LogLevel::kInfo), arguments.log_format);
  AsioLoop loop;
  return Service(arguments, loop, log, streams.err).Run();
}

}  // namespace patchbay
