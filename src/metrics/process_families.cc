#include "metrics/process_families.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <system_error>

#include "base/number.h"

namespace patchbay {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

std::string ReadAll(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::optional<double> Number(std::string_view text) {
  const auto value = ParseNumber<std::uint64_t>(text);
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

/// Returns the Unix time of the boot. It changes when the host's clock is set, so it is read each
/// time.
std::optional<double> BootTime() {
  const std::string text = ReadAll("/proc/stat");
  constexpr std::string_view kKey = "\nbtime ";
  const std::size_t at = text.find(kKey);
  if (at == std::string::npos) return std::nullopt;
  const std::string_view rest = std::string_view(text).substr(at + kKey.size());
  return Number(rest.substr(0, rest.find('\n')));
}

std::optional<double> OpenDescriptors() {
  std::error_code error;
  std::filesystem::directory_iterator entries("/proc/self/fd", error);
  if (error) return std::nullopt;
  double count = 0;
  for (; entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    if (error) return std::nullopt;
    ++count;
  }
  return count - 1;  // without the descriptor of the directory itself
}

std::optional<double> MaxDescriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::nullopt;
  if (limit.rlim_cur == RLIM_INFINITY) return std::numeric_limits<double>::infinity();
  return static_cast<double>(limit.rlim_cur);
}

void Add(std::vector<MetricFamily>& families, MetricType type, const char* name, const char* help,
         std::optional<double> value) {
  if (!value) return;
  MetricFamily family{name, help, type, {}};
  prometheus::ClientMetric& metric = family.metric.emplace_back();
  (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = *value;
  families.push_back(std::move(family));
}

}  // namespace

std::optional<ProcessStat> ParseProcessStat(std::string_view text, double ticks, double page) {
  // The second field is the program's name in parentheses, which may contain any characters.
  const std::size_t bracket = text.rfind(')');
  if (bracket == std::string_view::npos) return std::nullopt;
  text.remove_prefix(bracket + 1);
  constexpr int kUser = 14, kSystem = 15, kThreads = 20, kStart = 22, kVirtual = 23, kResident = 24;
  double fields[kResident + 1] = {};
  for (int i = 3; i <= kResident; ++i) {
    const std::size_t begin = text.find_first_not_of(' ');
    if (begin == std::string_view::npos) return std::nullopt;
    text.remove_prefix(begin);
    const std::string_view field = text.substr(0, text.find(' '));
    text.remove_prefix(field.size());
    if (i != kUser && i != kSystem && i < kThreads) continue;
    if (i == kThreads + 1) continue;
    const std::optional<double> number = Number(field);
    if (!number) return std::nullopt;
    fields[i] = *number;
  }
  return ProcessStat{.cpu_seconds = (fields[kUser] + fields[kSystem]) / ticks,
                     .threads = fields[kThreads],
                     .start_seconds_after_boot = fields[kStart] / ticks,
                     .virtual_bytes = fields[kVirtual],
                     .resident_bytes = fields[kResident] * page};
}

std::vector<MetricFamily> ProcessFamilies(std::uint64_t log_lines_dropped) {
  std::vector<MetricFamily> families;
  const auto add = [&](MetricType type, const char* name, const char* help,
                       std::optional<double> value) { Add(families, type, name, help, value); };
  const auto stat =
      ParseProcessStat(ReadAll("/proc/self/stat"), static_cast<double>(sysconf(_SC_CLK_TCK)),
                       static_cast<double>(sysconf(_SC_PAGESIZE)));
  if (stat) {
    add(MetricType::Counter, "process_cpu_seconds_total",
        "User and system CPU time in seconds. Its rate is the number of cores in use; near 0 when "
        "idle.",
        stat->cpu_seconds);
    add(MetricType::Gauge, "process_threads", "Number of threads. It should not keep growing.",
        stat->threads);
    add(MetricType::Gauge, "process_virtual_memory_bytes",
        "Virtual memory size. It does not show how much memory is in use.", stat->virtual_bytes);
    add(MetricType::Gauge, "process_resident_memory_bytes",
        "Resident memory size. Compare it with the container's memory limit.",
        stat->resident_bytes);
    if (const auto boot = BootTime()) {
      add(MetricType::Gauge, "process_start_time_seconds",
          "Start time of the process as Unix time. It changes when the process restarts.",
          *boot + stat->start_seconds_after_boot);
    }
  }
  add(MetricType::Gauge, "process_open_fds",
      "Number of open file descriptors. Near process_max_fds, nothing new can be opened.",
      OpenDescriptors());
  add(MetricType::Gauge, "process_max_fds", "Maximum number of open file descriptors.",
      MaxDescriptors());
  add(MetricType::Counter, "patchbay_log_lines_dropped_total",
      "Log lines dropped because the log is not read fast enough. An increase means that the log "
      "has gaps; check the container runtime or journald.",
      static_cast<double>(log_lines_dropped));
  return families;
}

}  // namespace patchbay
