// Loading can hang, so it runs in a pool and the loop gets its result. A request during a load
// causes one more. A file that is open for writing is read again later; its close is an event,
// except on a network file system.

#include "daemon/config_source.h"

#include "base/format.h"
#include "config/diagnostic_code.h"

namespace patchbay {
namespace {

/// Further errors are only counted.
constexpr std::size_t kMaxErrorsLogged = 50;
constexpr std::chrono::seconds kWriterPause{1};
/// A file that stays open for writing longer than this is logged.
constexpr std::chrono::seconds kWriterPatience{10};
/// A load that takes longer than this is logged, because its file system may hang.
constexpr std::chrono::seconds kAnswerLimit{10};
constexpr ThreadPool::Options kConfigThreads{.max_running = 2, .max_overdue = 8};

std::string TextOf(const SourceLocation& place) {
  if (place.line == 0) return place.file;
  return Format("{}:{}:{}", place.file, place.line, place.column);
}

}  // namespace

void LogDiagnostics(Log& log, const std::vector<Diagnostic>& findings,
                    const std::vector<Diagnostic>& logged) {
  if (!findings.empty() && findings == logged) {
    return log.Info("configuration diagnostics unchanged", {{"findings", findings.size()}});
  }
  std::size_t errors = 0, warnings = 0;
  for (const Diagnostic& finding : findings) {
    if (finding.severity == Severity::kWarning) {
      ++warnings;
      // Otherwise an empty file would show only in `patchbay check`.
      if (finding.code == InfoOf(Code::kNoResources).name) {
        log.Warning("configuration has no resources", {{"hint", finding.hint}});
      }
    } else if (++errors <= kMaxErrorsLogged) {
      log.Error("configuration error", {{"at", TextOf(finding.place)},
                                        {"code", finding.code},
                                        {"reason", finding.message},
                                        {"hint", finding.hint}});
    }
  }
  if (errors > kMaxErrorsLogged) {
    log.Warning("further configuration errors omitted; run patchbay check",
                {{"more", errors - kMaxErrorsLogged}});
  }
  if (warnings > 0) {
    log.Warning("configuration has warnings; run patchbay check to see them",
                {{"warnings", warnings}});
  }
}

ConfigSource::ConfigSource(Loop& loop, Log& log, const std::vector<std::string>& paths, Load load,
                           OnLoaded on_loaded)
    : loop_(loop),
      log_(log),
      load_(std::move(load)),
      on_loaded_(std::move(on_loaded)),
      pool_(loop_, kConfigThreads) {
  auto watch = PathWatch::Create(loop_, pool_, paths, [this] {
    ReportUnwatched();
    LoadSoon();
  });
  if (watch) {
    watch_ = std::move(*watch);
  } else {
    log_.Warning("configuration is not watched for changes; send SIGHUP after a change",
                 {{"reason", watch.error().message}});
  }
}

void ConfigSource::ReportUnwatched() {
  const auto& failed = watch_->failed();
  if (!failed.empty() && !unwatched_) {
    log_.Warning("part of the configuration is not watched for changes; send SIGHUP after a change",
                 {{"reason", failed.front().message}});
  }
  unwatched_ = !failed.empty();
}

void ConfigSource::Reload() {
  read_as_it_is_ = writer_reported_;
  AwaitLoad();
  if (!watch_) return LoadSoon();
  watch_->Watch([this] {
    ReportUnwatched();
    LoadSoon();
  });
}

void ConfigSource::AwaitLoad() {
  if (answer_) return;
  answer_ = loop_.After(kAnswerLimit, [this] {
    answer_ = Subscription();
    log_.Warning(
        "reading the configuration has not completed; its file system may not be responding",
        {{"seconds", kAnswerLimit.count()},
         {"hint",
          "check also that the limit of processes is not reached, which is pids.max of the cgroup, "
          "or ulimit -u"}});
  });
}

/// A request during a load causes one more load after it.
void ConfigSource::LoadSoon() {
  retry_ = Subscription();
  AwaitLoad();
  if (std::exchange(loading_, true)) {
    load_again_ = true;
    return;
  }
  pool_.Run(load_, lifetime_.Guard([this](Loaded loaded) { OnLoadEnded(std::move(loaded)); }));
}

bool ConfigSource::MustWaitForWriter(const Loaded& loaded) {
  if (!loaded.is_being_written) {
    writing_since_.reset();
    writer_reported_ = false;
    return false;
  }
  if (!loaded_) return false;
  const auto now = loop_.Now();
  if (!writing_since_) {
    log_.Debug("configuration file is still open for writing; waiting");
    writing_since_ = now;
  }
  if (now - *writing_since_ < kWriterPatience) return true;
  if (!std::exchange(writer_reported_, true)) {
    log_.Warning(
        "configuration file is still open for writing; not reading it; close it, or send SIGHUP to "
        "read it now",
        {{"seconds", kWriterPatience.count()}});
  }
  return !read_as_it_is_;
}

void ConfigSource::OnLoadEnded(Loaded loaded) {
  loading_ = false;
  answer_ = Subscription();
  if (MustWaitForWriter(loaded)) {
    // Closing the file is an event, unless another machine writes it over the network.
    retry_ = loop_.After(kWriterPause, [this] { LoadSoon(); });
  } else {
    loaded_ = true;
    read_as_it_is_ = false;
    on_loaded_(std::move(loaded));
  }
  if (std::exchange(load_again_, false)) LoadSoon();
}

}  // namespace patchbay
