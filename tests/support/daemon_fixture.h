#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>

#include "base/log.h"
#include "daemon/daemon.h"
#include "os/asio_loop.h"
#include "support/temp_tree.h"

namespace patchbay::test {

/// The deadline of an expected event. Long, because only a failure waits for it.
inline constexpr std::chrono::milliseconds kPatience = std::chrono::seconds(20);

/// The text of a log, and a way to wait for more. Thread-safe.
class LogText : public std::streambuf {
 public:
  std::string text() const;
  std::size_t Count(std::string_view part) const;
  /// Waits until `part` was written `times` times; returns false if it was not.
  bool Await(std::string_view part, std::size_t times = 1,
             std::chrono::milliseconds timeout = kPatience) const;

 protected:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* text, std::streamsize size) override;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable grown_;
  std::string text_;
};

/// An HTTP response; status 0 if there was none.
struct HttpAnswer {
  int status = 0;
  std::string body;
};

/// Requests a path from "address:port", on a new connection.
HttpAnswer HttpGet(const std::string& address, std::string_view path);

/// Returns the value of a series in the text of /metrics, by its name and labels as printed:
/// `patchbay_resource_registered{resource="a.b/c"}`. -1 if there is no such series.
double MetricValue(std::string_view metrics, std::string_view series);

/// Removes a directory in which other processes may create files at the same time.
void RemoveBusyDirectory(const std::string& path);

/// The whole daemon, on a loop on its own thread. kubelet_dir is "kubelet" and cdi_dir "cdi"
/// in the tree, which is also the host's root; HTTP is on a free port of 127.0.0.1.
class RunningDaemon {
 public:
  struct Settings {
    std::string daemon_keys = {};  ///< further lines for [daemon]
    std::string node_name = "node-1";
    std::string pod_resources = {};  ///< the kubelet's socket; empty: disabled
    PodResourcesPace pod_resources_pace = {};
    Loop::Duration max_loop_stall = std::chrono::seconds(10);
    ProgressLimits progress_limits = {};
    /// Changes values that the text cannot express.
    std::function<void(Model&)> change_model = {};
    std::function<Result<Cancellation>()> make_cancellation = Cancellation::Create;
    /// The API server, for Dynamic Resource Allocation.
    Result<ClusterConfig> cluster = ClusterConfigInPod("", "");
    std::string pod_uid = {};
  };

  /// Fails the test, and runs nothing, if the text is not a valid configuration.
  RunningDaemon(const TempTree& tree, std::string_view resources, Settings settings);
  RunningDaemon(const TempTree& tree, std::string_view resources)
      : RunningDaemon(tree, resources, Settings{}) {}
  ~RunningDaemon();
  RunningDaemon(const RunningDaemon&) = delete;
  RunningDaemon& operator=(const RunningDaemon&) = delete;

  /// Reloads with these resources and further lines for [daemon], as after a change of the file.
  void Reload(std::string_view resources, std::string_view daemon_keys = "");

  /// As on SIGUSR1.
  void Refresh() {
    OnLoop([&] { daemon_->Refresh(); });
  }

  /// Stops as on SIGTERM. Waits for the end; returns false if it took longer than `timeout`.
  bool Stop(std::chrono::milliseconds timeout = kPatience);

  /// Runs `f` on the loop thread and returns its result.
  template <class F>
  auto OnLoop(F f) -> std::invoke_result_t<F> {
    std::packaged_task<std::invoke_result_t<F>()> task(std::move(f));
    auto result = task.get_future();
    loop_.Post([&task] { task(); });
    return result.get();
  }

  HttpAnswer Get(std::string_view path) const { return HttpGet(address_, path); }
  double Metric(std::string_view series) const { return MetricValue(Get("/metrics").body, series); }
  /// Scrapes until the series has the value, because counting on gRPC's threads sends no event.
  bool AwaitMetric(std::string_view series, double value,
                   std::chrono::milliseconds timeout = kPatience) const;
  bool AwaitMetricAtLeast(std::string_view series, double value,
                          std::chrono::milliseconds timeout = kPatience) const;
  /// Waits for a condition whose change sends no event.
  bool AwaitTrue(const std::function<bool()>& condition,
                 std::chrono::milliseconds timeout = kPatience) const;
  /// Waits until /readyz returns 200.
  bool AwaitReady() const;
  /// Waits until /readyz fails with a text that contains `reason`.
  bool AwaitUnready(std::string_view reason) const;

  const LogText& log() const { return text_; }
  /// The reason for which the daemon requested the end of the process; "" if it did not.
  std::string fatal() const;

 private:
  Loaded Load(std::string_view resources, std::string_view daemon_keys) const;

  std::string fixed_keys_;  ///< of [daemon]
  LogText text_;
  std::ostream stream_{&text_};
  Log log_{LogLevel::kDebug, LogFormat::kText, stream_};
  mutable std::mutex mutex_;
  std::string fatal_;
  std::string address_;
  std::unique_ptr<Daemon> daemon_;  ///< belongs to the loop thread
  AsioLoop loop_;
  std::thread thread_;
};

}  // namespace patchbay::test
