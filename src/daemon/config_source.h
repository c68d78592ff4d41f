#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "config/load.h"
#include "os/loop.h"
#include "os/path_watch.h"
#include "os/worker.h"

namespace patchbay {

/// Writes what there is to say about a configuration to the log, a line for each finding; one line
/// for all where that is what was `told` the last time.
void LogDiagnostics(Log& log, const std::vector<Diagnostic>& findings,
                    const std::vector<Diagnostic>& told = {});

/// Where the configuration comes from: loads it anew when what it is read from may have changed,
/// and when asked to. A file that is being written is waited for. Changes are seen from the moment
/// this is made, so make it before the first load. Belongs to the loop thread; the loading is done
/// on a thread of its own.
class ConfigSource {
 public:
  using Load = std::function<Loaded()>;  ///< slow; on that thread
  using OnLoaded = std::function<void(Loaded)>;

  /// `paths` are those that `load` reads. Where they cannot be watched the log says so.
  ConfigSource(Loop& loop, Log& log, const std::vector<std::string>& paths, Load load,
               OnLoaded on_loaded);

  /// As asked by SIGHUP: loads, and tries again to watch what could not be.
  void Reload();

 private:
  void LoadSoon();
  void TellUnwatched();

  Loop& loop_;
  Log& log_;
  const Load load_;
  const OnLoaded on_loaded_;
  std::unique_ptr<PathWatch> watch_;
  bool unwatched_ = false;  ///< as far as was told
  bool loading_ = false;
  bool load_again_ = false;
  Subscription retry_;  ///< of a load that ran into a writer
  Worker worker_;
  Lifetime lifetime_;
};

}  // namespace patchbay
