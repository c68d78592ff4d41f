#include "daemon/config_source.h"

#include "base/format.h"

namespace patchbay {
namespace {

/// More findings than this are counted.
constexpr std::size_t kMostFindingsLogged = 50;
constexpr std::chrono::seconds kWriterPause{1};

std::string TextOf(const Place& place) {
  if (place.line == 0) return place.file;
  return format("{}:{}:{}", place.file, place.line, place.column);
}

}  // namespace

void LogDiagnostics(Log& log, const std::vector<Diagnostic>& findings,
                    const std::vector<Diagnostic>& told) {
  if (!findings.empty() && findings == told) {
    return log.Info("what there is to say about the configuration was said before",
                    {{"findings", findings.size()}});
  }
  for (std::size_t i = 0; i < std::min(findings.size(), kMostFindingsLogged); ++i) {
    const Diagnostic& finding = findings[i];
    const Log::Fields fields = {{"at", TextOf(finding.place)},
                                {"code", finding.code},
                                {"reason", finding.message},
                                {"hint", finding.hint}};
    if (finding.severity == Severity::kError) {
      log.Error("mistake in the configuration", fields);
    } else {
      log.Warning("doubt about the configuration", fields);
    }
  }
  if (findings.size() > kMostFindingsLogged) {
    log.Warning("there is more to say about the configuration; patchbay check says it",
                {{"more", findings.size() - kMostFindingsLogged}});
  }
}

ConfigSource::ConfigSource(Loop& loop, Log& log, const std::vector<std::string>& paths, Load load,
                           OnLoaded on_loaded)
    : loop_(loop), log_(log), load_(std::move(load)), on_loaded_(std::move(on_loaded)) {
  auto watch = PathWatch::Create(loop_, paths, [this] {
    TellUnwatched();
    LoadSoon();
  });
  if (watch) {
    watch_ = std::move(*watch);
    TellUnwatched();
  } else {
    log_.Warning("the configuration is not watched; send SIGHUP after a change",
                 {{"reason", watch.error().message}});
  }
}

void ConfigSource::TellUnwatched() {
  const auto& failed = watch_->failed();
  if (!failed.empty() && !unwatched_) {
    log_.Warning("not all of the configuration is watched; send SIGHUP after a change",
                 {{"reason", failed.front().message}});
  }
  unwatched_ = !failed.empty();
}

void ConfigSource::Reload() {
  if (watch_) {
    watch_->Watch();
    TellUnwatched();
  }
  LoadSoon();
}

/// Once more when it is loading already.
void ConfigSource::LoadSoon() {
  retry_ = Subscription();
  if (std::exchange(loading_, true)) {
    load_again_ = true;
    return;
  }
  worker_.Run(loop_, load_, lifetime_.Guard([this](Loaded loaded) {
    loading_ = false;
    if (loaded.is_being_written) {
      // Its end is an event, but not where it is written from another machine.
      log_.Debug("the configuration is being written; waiting for the end of that");
      retry_ = loop_.After(kWriterPause, [this] { LoadSoon(); });
    } else {
      on_loaded_(std::move(loaded));
    }
    if (std::exchange(load_again_, false)) LoadSoon();
  }));
}

}  // namespace patchbay
