#pragma once

#include <prometheus/counter.h>
#include <prometheus/histogram.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <string_view>

#include "health/probe.h"
#include "model/spec.h"

namespace patchbay {

// The counters of the program, which metrics/ reads at each scrape. All are thread-safe.

/// The calls of the kubelet's device plugin API, by their names in metrics.
enum class Rpc {
  kGetDevicePluginOptions,
  kListAndWatch,
  kGetPreferredAllocation,
  kAllocate,
  kPreStartContainer,
};
inline constexpr Rpc kAllRpcs[] = {Rpc::kGetDevicePluginOptions, Rpc::kListAndWatch,
                                   Rpc::kGetPreferredAllocation, Rpc::kAllocate,
                                   Rpc::kPreStartContainer};
/// "GetDevicePluginOptions", …
std::string_view Name(Rpc rpc);

/// The calls of the kubelet to a driver of Dynamic Resource Allocation, by their names in metrics.
enum class DriverRpc {
  kGetInfo,
  kNotifyRegistrationStatus,
  kNodePrepareResources,
  kNodeUnprepareResources,
  kNodeWatchResources,
};
inline constexpr DriverRpc kAllDriverRpcs[] = {
    DriverRpc::kGetInfo, DriverRpc::kNotifyRegistrationStatus, DriverRpc::kNodePrepareResources,
    DriverRpc::kNodeUnprepareResources, DriverRpc::kNodeWatchResources};
/// "GetInfo", …
std::string_view Name(DriverRpc rpc);

/// The status codes of gRPC in capitals.
inline constexpr std::string_view kStatusCodes[] = {"OK",
                                                    "CANCELLED",
                                                    "UNKNOWN",
                                                    "INVALID_ARGUMENT",
                                                    "NOT_FOUND",
                                                    "DEADLINE_EXCEEDED",
                                                    "ALREADY_EXISTS",
                                                    "PERMISSION_DENIED",
                                                    "ABORTED",
                                                    "RESOURCE_EXHAUSTED",
                                                    "FAILED_PRECONDITION",
                                                    "OUT_OF_RANGE",
                                                    "INTERNAL",
                                                    "UNIMPLEMENTED",
                                                    "UNAVAILABLE",
                                                    "DATA_LOSS",
                                                    "UNAUTHENTICATED"};

/// Two counters that differ in the label `result`.
struct CountersByResult {
  prometheus::Counter success, failure;
  prometheus::Counter& of(bool ok) { return ok ? success : failure; }
};

/// The calls of one method, by status code. Any other text counts as UNKNOWN, so that the number of
/// series is bounded.
class CallCounters {
 public:
  void Count(std::string_view code);
  /// `code` is an index of kStatusCodes.
  double Value(std::size_t code) const { return by_code_[code].Value(); }

 private:
  std::array<prometheus::Counter, std::size(kStatusCodes)> by_code_;
};

/// A histogram with eight upper bounds, in seconds, from 0.5 ms to 10 s or to `longest`.
class Durations {
 public:
  explicit Durations(std::chrono::seconds longest = std::chrono::seconds(10));
  void Add(std::chrono::nanoseconds duration) {
    histogram_.Observe(std::chrono::duration<double>(duration).count());
  }
  prometheus::ClientMetric Collect() const { return histogram_.Collect(); }
  double Count() const { return static_cast<double>(Collect().histogram.sample_count); }

 private:
  prometheus::Histogram histogram_;
};

/// The counters of one resource, from its addition to its removal.
struct ResourceCounters {
  CountersByResult registrations;
  prometheus::Counter lists_sent;
  prometheus::Counter to_healthy, to_unhealthy;  ///< of listed devices
  CountersByResult allocations;
  prometheus::Counter allocated_units;
  Durations scans;
  std::array<CallCounters, std::size(kAllRpcs)> calls;
  std::array<Durations, std::size(kAllRpcs)> call_durations;
  std::array<prometheus::Counter, std::size(kAllProbeResults)> probes;
  Durations probe_durations;
  struct ByResult {
    Durations success, failure;
  };
  std::array<ByResult, std::size(kAllHooks)> hooks;
};

}  // namespace patchbay
