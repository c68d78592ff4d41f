#include <csignal>
#include <ostream>

#include "cli/commands.h"
#include "cli/end_deadline.h"
#include "cli/end_signals.h"
#include "cli/load.h"
#include "cli/version.h"
#include "daemon/daemon.h"
#include "os/memory.h"

namespace patchbay {

int RunDaemon(const Arguments& arguments, Streams streams) {
  FavorSmallMemory();
  auto model = LoadOrReport(arguments, streams);
  if (!model) return kFailed;
  Log log(arguments.log_level.value_or(LogLevel::kInfo), arguments.log_format);
  std::signal(SIGPIPE, SIG_IGN);  // a log reader or client that went is not our end

  const std::string run = NewRun(), kubelet_dir = model->daemon.kubelet_dir;
  EndDeadline deadline;
  AsioLoop loop;
  int code = kOk;
  std::function<void()> stop;
  const EndSignals signals(loop, [&](int number) {
    log.Info("ending", {{"signal", number}});
    stop();
  });
  std::unique_ptr<Daemon> daemon;
  bool stopping = false;
  stop = [&] {
    if (std::exchange(stopping, true)) return;
    deadline.Begin(code, [&] {
      log.Warning("not everything ended in time; ending all the same");
      RemoveSocketsOf(run, kubelet_dir);
    });
    daemon->Stop([&] { loop.Stop(); });
  };
  // From the start: until it is listened for, this signal ends a process.
  const Subscription refresh = loop.OnSignals({SIGUSR1}, [&](int) {
    log.Info("looking for devices again, as asked by SIGUSR1");
    daemon->Refresh();
  });
  Daemon::Options options{
      std::move(*model), NodeName(), run, kVersion, kRevision, [&](const std::string& reason) {
        log.Error("cannot go on", {{"reason", reason}});
        code = kFailed;
        loop.Post(stop);
      }};
  auto created = Daemon::Create(loop, log, std::move(options));
  if (!created) {
    log.Error("cannot start", {{"reason", created.error().message}});
    return kFailed;
  }
  daemon = std::move(*created);
  loop.Run();
  return code;
}

}  // namespace patchbay
