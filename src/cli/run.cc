#include <unistd.h>

#include <csignal>
#include <ostream>

#include "cli/commands.h"
#include "cli/end_deadline.h"
#include "cli/end_signals.h"
#include "cli/load.h"
#include "cli/version.h"
#include "daemon/config_source.h"
#include "daemon/daemon.h"
#include "daemon/waiting.h"
#include "os/memory.h"

namespace patchbay {
namespace {

/// The daemon, or what stands in for it until there is a configuration.
class Service {
 public:
  Service(const Arguments& arguments, AsioLoop& loop, Log& log)
      : arguments_(arguments),
        loop_(loop),
        log_(log),
        source_(
            loop, log, {arguments.config}, [arguments] { return LoadConfig(arguments); },
            [this](Loaded loaded) { OnLoaded(std::move(loaded)); }) {}

  /// Runs the loop until the end, and returns the exit code.
  int Run(Loaded loaded) {
    if (loaded.model) {
      log_.Info("configuration loaded",
                {{"path", arguments_.config}, {"resources", loaded.model->resources.size()}});
    }
    told_ = loaded.diagnostics.Sorted();
    const Status begun = loaded.model ? BeginDaemon(std::move(*loaded.model)) : BeginWaiting();
    if (!begun) return FailToStart(begun.error());
    loop_.Run();
    return code_;
  }

 private:
  Status BeginDaemon(Model model) {
    log_.SetLevel(model.daemon.log_level);
    kubelet_dir_ = model.daemon.kubelet_dir;
    Daemon::Options options{.model = std::move(model),
                            .node_name = NodeName(),
                            .run = run_,
                            .version = kVersion,
                            .revision = kRevision,
                            .on_fatal =
                                [this](const std::string& reason) {
                                  log_.Error("cannot go on", {{"reason", reason}});
                                  code_ = kFailed;
                                  loop_.Post([this] { Stop(); });
                                },
                            .config = arguments_.config,
                            .diagnostics = told_};
    daemon_ = TRY(Daemon::Create(loop_, log_, std::move(options)));
    return {};
  }

  Status BeginWaiting() {
    waiting_ = TRY(Waiting::Create(loop_, log_,
                                   {arguments_.listen.value_or(DaemonSpec().listen),
                                    arguments_.config, kVersion, kRevision, NodeName(), told_}));
    return {};
  }

  ExitCode FailToStart(const Error& error) {
    log_.Error("cannot start", {{"reason", error.message}});
    return kFailed;
  }

  void OnLoaded(Loaded loaded) {
    if (stopping_) return;
    if (daemon_) {
      daemon_->Reload(std::move(loaded));
      return;
    }
    std::vector<Diagnostic> findings = loaded.diagnostics.Sorted();
    LogDiagnostics(log_, findings, told_);
    told_ = std::move(findings);
    if (!loaded.model || loaded.model->resources.empty()) {
      log_.Warning("still waiting for a configuration that is of use");
      return waiting_->OnRefused(told_);
    }
    waiting_.reset();
    const Status begun = BeginDaemon(std::move(*loaded.model));
    if (begun) return;
    code_ = FailToStart(begun.error());
    loop_.Stop();
  }

  void Stop() {
    if (std::exchange(stopping_, true)) return;
    deadline_.Begin(code_, [this] {
      log_.Warning("not everything ended in time; ending all the same");
      if (daemon_) RemoveSocketsOf(run_, kubelet_dir_);
    });
    if (!daemon_) return loop_.Stop();
    daemon_->Stop([this] { loop_.Stop(); });
  }

  const Arguments& arguments_;
  const std::string run_ = NewRun();
  std::string kubelet_dir_;
  EndDeadline deadline_;
  AsioLoop& loop_;
  Log& log_;
  int code_ = kOk;
  std::vector<Diagnostic> told_;  ///< of the configuration, the last time
  bool stopping_ = false;
  // From the start: until they are listened for, these end a process.
  const EndSignals end_{loop_, {SIGTERM, SIGINT}, [this](int number) {
                          log_.Info("ending", {{"signal", number}});
                          Stop();
                        }};
  const Subscription refresh_ = loop_.OnSignals({SIGUSR1}, [this](int) {
    log_.Info("looking for devices again, as asked by SIGUSR1");
    if (daemon_) daemon_->Refresh();
  });
  const Subscription reload_ = loop_.OnSignals({SIGHUP}, [this](int) {
    log_.Info("loading the configuration again, as asked by SIGHUP");
    source_.Reload();
  });
  ConfigSource source_;
  std::unique_ptr<Waiting> waiting_;
  std::unique_ptr<Daemon> daemon_;
};

/// Whether a person reads what is said at the start, and nothing of it is too little for the level:
/// then mistakes are shown as the other commands show them. Else a line is a fact, see
/// docs/logs.md.
bool ShowsSource(const Arguments& arguments, LogLevel level) {
  return isatty(STDERR_FILENO) != 0 && arguments.log_format == LogFormat::kText &&
         level <= LogLevel::kWarning && !arguments.wait_for_config;
}

}  // namespace

int RunDaemon(const Arguments& arguments, Streams streams) {
  FavorSmallMemory();
  std::signal(SIGPIPE, SIG_IGN);  // a log reader or client that went is not our end
  Log log(arguments.log_level.value_or(LogLevel::kInfo), arguments.log_format);
  AsioLoop loop;
  Service service(arguments, loop, log);
  Loaded loaded = LoadConfig(arguments);
  const LogLevel level =
      loaded.model ? loaded.model->daemon.log_level : arguments.log_level.value_or(LogLevel::kInfo);
  log.SetLevel(level);
  if (ShowsSource(arguments, level)) {
    streams.err << loaded.diagnostics.RenderText();
  } else {
    LogDiagnostics(log, loaded.diagnostics.Sorted());
  }
  if (!loaded.model && !arguments.wait_for_config) return kFailed;
  return service.Run(std::move(loaded));
}

}  // namespace patchbay
