#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "config/load.h"
#include "os/loop.h"
#include "os/path_watch.h"
#include "os/thread_pool.h"

namespace patchbay {

/// Logs the diagnostics of a configuration: one line for each error, and one line for all warnings,
/// with the command that shows them. If they are the same as those logged last time (`logged`),
/// logs a single line.
void LogDiagnostics(Log& log, const std::vector<Diagnostic>& findings,
                    const std::vector<Diagnostic>& logged = {});

/// Loads the configuration at start, when its files may have changed, and on request. Waits while a
/// file is open for writing, except for the first load, and for a request after the wait was
/// logged. Belongs to the loop thread; path lookups and reads, which may hang, run in a separate
/// pool.
class ConfigSource {
 public:
  using Load = std::function<Loaded()>;  ///< slow; runs in the pool, so it owns its data
  using OnLoaded = std::function<void(Loaded)>;

  /// `paths` are those that `load` reads. Logs a warning if they cannot be watched.
  ConfigSource(Loop& loop, Log& log, const std::vector<std::string>& paths, Load load,
               OnLoaded on_loaded);

  /// Watches the paths, then loads: at start, and again at SIGHUP.
  void Reload();

 private:
  void LoadSoon();
  void OnLoadEnded(Loaded loaded);
  bool MustWaitForWriter(const Loaded& loaded);
  void ReportUnwatched();
  void AwaitLoad();

  Loop& loop_;
  Log& log_;
  const Load load_;
  const OnLoaded on_loaded_;
  ThreadPool pool_;
  std::unique_ptr<PathWatch> watch_;
  bool unwatched_ = false;  ///< as logged last
  bool loaded_ = false;     ///< at least once
  bool loading_ = false;
  bool load_again_ = false;
  Subscription retry_;                       ///< of a load that found an open writer
  std::optional<Loop::Time> writing_since_;  ///< a file is open for writing
  bool writer_reported_ = false;
  bool read_as_it_is_ = false;  ///< requested by SIGHUP after that report
  Subscription answer_;         ///< the time until a slow file system is reported
  Lifetime lifetime_;
};

}  // namespace patchbay
