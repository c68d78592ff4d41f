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

/// Writes what there is to say about a configuration to the log: a line for each error, and one for
/// all warnings, which names the command that shows them. One line for all where that is what was
/// `told` the last time.
void LogDiagnostics(Log& log, const std::vector<Diagnostic>& findings,
                    const std::vector<Diagnostic>& told = {});

/// Where the configuration comes from: loads it at first, again when what it is read from may have
/// changed, and when asked to. A file that is being written is waited for. Belongs
/// to the loop thread; paths are looked up and files read in a pool of its own, where that may
/// hang.
class ConfigSource {
 public:
  using Load = std::function<Loaded()>;  ///< slow; in the pool, so it owns what it touches
  using OnLoaded = std::function<void(Loaded)>;

  /// `paths` are those that `load` reads. Where they cannot be watched the log says so.
  ConfigSource(Loop& loop, Log& log, const std::vector<std::string>& paths, Load load,
               OnLoaded on_loaded);

  /// Watches, then loads: at the start, and again as asked by SIGHUP.
  void Reload();

 private:
  void LoadSoon();
  void OnLoadEnded(Loaded loaded);
  bool MustWaitForWriter(const Loaded& loaded);
  void TellUnwatched();
  void AwaitAnswer();

  Loop& loop_;
  Log& log_;
  const Load load_;
  const OnLoaded on_loaded_;
  ThreadPool pool_;
  std::unique_ptr<PathWatch> watch_;
  bool unwatched_ = false;  ///< as far as was told
  bool loaded_ = false;     ///< once
  bool loading_ = false;
  bool load_again_ = false;
  Subscription retry_;                       ///< of a load that ran into a writer
  std::optional<Loop::Time> writing_since_;  ///< a file is open for writing
  bool writer_reported_ = false;
  bool read_as_it_is_ = false;  ///< requested by SIGHUP after that report
  Subscription answer_;         ///< the time that the file system has for it
  Lifetime lifetime_;
};

}  // namespace patchbay
