#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "support/daemon_process.h"

namespace patchbay::test {

/// The time to wait for an expected event. It is long, because only a failure uses all of it.
inline constexpr std::chrono::milliseconds kPatience = std::chrono::minutes(1);

/// The program that probes devices. The test installs it as /probe of the host.
extern const std::string_view kProbeProgram;

/// The number of kinds of resources. A kind is a number from 0.
inline constexpr std::size_t kKinds = 4;

/// The devices of one resource in their actual state, which the kubelet must eventually have. Used
/// by one thread at a time.
class Devices {
 public:
  /// Creates the devices; all of them work.
  Devices(DaemonProcess& daemon, std::size_t kind, unsigned seed);

  std::string name() const { return "soak.dev/" + label_; }
  /// Returns the resource for the configuration of the daemon.
  std::string Toml() const;

  /// Makes a few changes, some of which may undo others.
  void Change();
  void MakeAllWork();
  void RemoveAll();

  /// Waits until the table of the kubelet has exactly the actual state. Returns in how many devices
  /// that differs from the last time. After kPatience, fails the test and returns nothing.
  std::optional<std::size_t> Follow();

 private:
  using Health = std::map<std::string, std::string>;

  std::size_t Random(std::size_t below) { return random_() % below; }
  Health AsListed() const;
  void SetPresent(const std::string& id, bool present);
  void SetWorking(const std::string& id, bool working);

  TempTree& host_;
  KubeletSim& kubelet_;
  const std::size_t kind_;
  const std::string label_;
  std::mt19937 random_;
  std::map<std::string, bool> present_;
  std::map<std::string, bool> working_;
  Health followed_;
};

}  // namespace patchbay::test
