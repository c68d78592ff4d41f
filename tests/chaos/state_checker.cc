// Three checks, from cheap to expensive: the lists of the kubelet, what a removed resource or an
// ended probe has left in the process, and the response to an Allocate for each resource. The first
// one that fails ends the check. Only the last one calls the daemon.
//
// Descriptors and threads are compared with limits, because gRPC and its pools vary. The reference
// is taken by SetBaseline, and the limits grow with the number of resources.

#include "chaos/state_checker.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include "base/format.h"
#include "chaos/connections.h"
#include "support/process.h"

namespace patchbay::test {
namespace {

/// The descriptors that each resource and each probe may add, those that each removed resource
/// frees at least, and the temporary ones.
constexpr long kDescriptorsOfAResource = 4;
constexpr long kMinDescriptorsOfAResource = 1;
constexpr long kDescriptorsOfAProbe = 3;
constexpr long kMoreDescriptors = 4;
/// gRPC has one, and the acceptor of the daemon another one.
constexpr std::size_t kDescriptorsOfAConnection = 2;
/// The maximum number of threads at rest, apart from those of gRPC, probes and resources. The pools
/// for scans, commands, servers, shutdown and configuration keep four each; one thread reads the
/// kubelet's directory; seven belong to the loop, the log, HTTP and the shutdown deadline.
constexpr long kThreads = 5 * 4 + 1 + 7;
/// One for its lookups and one for its hooks.
constexpr long kThreadsOfAResource = 2;

/// gRPC 1.51 has a fixed number of threads, and pools that grow with the CPUs.
long ThreadsOfGrpc() { return 10 + 4 * static_cast<long>(std::thread::hardware_concurrency()); }

/// Returns the paths of bound sockets in the network namespace of the process, by their name in
/// /proc/PID/fd.
std::map<std::string, std::string> BoundSockets(pid_t pid) {
  std::map<std::string, std::string> bound;
  std::ifstream table(Format("/proc/{}/net/unix", pid));
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields(line);
    std::string skipped, inode, path;
    for (int i = 0; i < 6; ++i) fields >> skipped;
    if (fields >> inode >> path) bound[Format("socket:[{}]", inode)] = path;
  }
  return bound;
}

/// Counts the descriptors of each kind: "anon_inode:[eventfd] 5, socket 3, socket of
/// /tmp/kubelet.sock 1".
std::string KindsOfDescriptors(pid_t pid) {
  const auto bound = BoundSockets(pid);
  std::map<std::string, int> kinds;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(Format("/proc/{}/fd", pid), error)) {
    const std::string target = std::filesystem::read_symlink(entry.path(), error);
    const auto path = bound.find(target);
    // "socket:[123]" and "pipe:[123]" differ in their numbers.
    const bool is_numbered = target.starts_with("socket:") || target.starts_with("pipe:");
    ++kinds[path != bound.end() ? "socket of " + path->second
            : is_numbered       ? target.substr(0, target.find(':'))
                                : target];
  }
  std::string text;
  for (const auto& [kind, count] : kinds)
    text += Format("{}{} {}", text.empty() ? "" : ", ", kind, count);
  return text;
}

/// Removes the part for the hostile suffix from the ID of a device of Host::kHostile, and keeps
/// "g1" and the suffix of the replica. Returns other IDs, and invalid ones, unchanged.
std::string WithoutHash(const std::string& id) {
  const auto is_valid = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._:@+-").find(c) != std::string_view::npos;
  };
  const bool is_hostile = id.size() > 2 && id.starts_with(Host::Letter(Host::kHostile));
  if (!is_hostile || id.size() > 63 || !std::all_of(id.begin(), id.end(), is_valid)) return id;
  const auto replica = id.rfind("::");
  return id.substr(0, 2) + (replica == std::string::npos ? "" : id.substr(replica));
}

long SocketsIn(const std::string& directory) {
  std::error_code error;
  const std::filesystem::directory_iterator entries(directory, error);
  return std::count_if(begin(entries), end(entries), [](const auto& entry) {
    return entry.path().filename().string().starts_with("patchbay-");
  });
}

}  // namespace

std::string StateChecker::HowDaemonEnded() const {
  siginfo_t ended{};
  const auto pid = static_cast<id_t>(world_.daemon.pid());
  if (waitid(P_PID, pid, &ended, WEXITED | WNOHANG | WNOWAIT) != 0) return "  the daemon is gone\n";
  if (ended.si_pid == 0) return "";
  return Format("  the daemon has ended with {} {}\n",
                ended.si_code == CLD_EXITED ? "code" : "signal", ended.si_status);
}

std::string StateChecker::FindErrors() {
  std::string wrong = CheckLists({});
  if (wrong.empty()) wrong = CheckLeftovers();
  // Last, because it calls the daemon.
  return wrong.empty() ? CheckAllocations({}) : wrong;
}

std::string StateChecker::FindErrorsExcept(const std::set<std::string>& affected) {
  const std::string wrong = CheckLists(affected);
  return wrong.empty() ? CheckAllocations(affected) : wrong;
}

std::string StateChecker::CheckLists(const std::set<std::string>& affected) const {
  if (const std::string end = HowDaemonEnded(); !end.empty()) return end;
  std::string wrong = world_.pods.wrong();
  for (const auto& resource : world_.configuration.resources()) {
    if (!affected.contains(resource.name)) wrong += FindErrorsIn(resource);
  }
  return wrong + CheckRemovedResources(affected);
}

std::string StateChecker::FindErrorsIn(const Configuration::Resource& resource) const {
  const auto view = world_.daemon.kubelet().View(resource.name);
  if (!view || !view->connected) return "  " + resource.name + " is not registered\n";
  std::string wrong;
  if (view->options.get_preferred_allocation_available != resource.is_packed) {
    wrong += Format("  {} is not registered with its current preferences\n", resource.name);
  }
  if (view->options.pre_start_required != resource.has_release) {
    wrong += Format("  {} is not registered with its current hooks\n", resource.name);
  }
  if (view->streams != 1) wrong += Format("  {} has {} streams\n", resource.name, view->streams);
  const auto listed = Listed(resource, false), expected = world_.configuration.Listed(resource);
  if (listed == expected) return wrong;
  return wrong + Format("  {}: expected {}\n    but the kubelet has {}\n", resource.name,
                        testing::PrintToString(expected), testing::PrintToString(listed));
}

Configuration::Health StateChecker::Listed(const Configuration::Resource& resource,
                                           bool with_vanished) const {
  Configuration::Health listed;
  const auto view = world_.daemon.kubelet().View(resource.name);
  if (!view) return listed;
  const auto expected = world_.configuration.Listed(resource);
  for (const SimDevice& device : view->devices) {
    const std::string id = WithoutHash(device.id);
    if (with_vanished || device.health == "Healthy" || expected.contains(id))
      listed[id] = device.health;
  }
  return listed;
}

std::string StateChecker::ListLingering() const {
  std::string wrong;
  for (const auto& resource : world_.configuration.resources()) {
    for (const auto& [id, health] : Listed(resource, true)) {
      if (world_.configuration.Listed(resource).contains(id)) continue;
      wrong += Format("  {} still has {}, {}\n", resource.name, id, health);
    }
  }
  return wrong;
}

/// Checks resources that the configuration no longer has.
std::string StateChecker::CheckRemovedResources(const std::set<std::string>& affected) const {
  std::set<std::string> names = affected;
  for (const auto& resource : world_.configuration.resources()) names.insert(resource.name);
  std::string wrong;
  for (const std::string& name : world_.daemon.kubelet().Resources()) {
    const auto view = world_.daemon.kubelet().View(name);
    if (names.contains(name) || !view) continue;
    if (view->streams != 0) wrong += Format("  {} still has {} streams\n", name, view->streams);
    if (view->allocatable != 0) wrong += Format("  {} still has devices\n", name);
  }
  return wrong;
}

std::string StateChecker::CheckLeftovers() const {
  std::string wrong;
  const auto at_most = [&](std::string_view what, long count, long limit) {
    if (count > limit) wrong += Format("  {} {}, expected at most {}\n", count, what, limit);
  };
  const Measure now = Now();
  const long sockets = SocketsIn(world_.daemon.kubelet().directory());
  if (sockets != now.resources) wrong += Format("  there are {} sockets\n", sockets);
  const long probes = world_.configuration.RunsPrograms() ? kMaxProbes : 0;
  at_most("child processes", static_cast<long>(ChildrenOf(world_.daemon.pid()).size()), probes);
  if (measure_.resources == 0) return wrong;
  const long more = now.resources - measure_.resources;
  const long of_resources =
      more * (more > 0 ? kDescriptorsOfAResource : kMinDescriptorsOfAResource);
  at_most("descriptors", now.descriptors,
          measure_.descriptors + of_resources + probes * kDescriptorsOfAProbe + kMoreDescriptors);
  if (!wrong.empty()) wrong += "  " + KindsOfDescriptors(world_.daemon.pid()) + "\n";
  at_most("threads", now.threads,
          ThreadsOfGrpc() + kThreads + kMaxProbes + now.resources * kThreadsOfAResource);
  return wrong;
}

/// Checks that containers get what the configuration requires, which the lists do not show.
std::string StateChecker::CheckAllocations(const std::set<std::string>& affected) {
  if (!world_.pods.End(std::chrono::milliseconds(1))) return "  an Allocate has no response\n";
  KubeletSim& kubelet = world_.daemon.kubelet();
  for (const auto& resource : world_.configuration.resources()) {
    const auto view = kubelet.View(resource.name);
    if (affected.contains(resource.name) || !view || view->allocatable == 0) continue;
    const auto admitted = kubelet.Admit("check", "main", resource.name, 1);
    kubelet.Release("check");
    if (!admitted) return Format("  {}: {}\n", resource.name, admitted.error().message);
    const std::string wrong = resource.FindErrorsIn(admitted->response, world_.host);
    if (!wrong.empty()) return Format("  a container of {} gets {}\n", resource.name, wrong);
  }
  return "";
}

std::string StateChecker::Holdings() const {
  return Format("{} at first, {} now", measure_.Text(), Now().Text());
}

StateChecker::Measure StateChecker::Now() const {
  const std::size_t connections =
      OpenConnections(world_.daemon.kubelet().directory()).value_or(world_.faults.extra_streams());
  return {static_cast<long>(world_.configuration.resources().size()),
          static_cast<long>(DescriptorsOf(world_.daemon.pid()) -
                            connections * kDescriptorsOfAConnection),
          static_cast<long>(ThreadsOf(world_.daemon.pid()))};
}

std::string StateChecker::Measure::Text() const {
  return Format("{} resources with {} descriptors and {} threads", resources, descriptors, threads);
}

}  // namespace patchbay::test
