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

/// How long a soak waits for what must happen. Long, since it is only waited out by a failure.
inline constexpr std::chrono::milliseconds kPatience = std::chrono::minutes(1);

/// The probe of devices that are probed by a program, to be made as /probe of the host.
extern const std::string_view kProbeProgram;

/// Resources of this many kinds are there, numbered from 0.
inline constexpr std::size_t kKinds = 4;

/// The devices of one resource as they are, and so as the kubelet must come to have them. Belongs
/// to one thread at a time.
class Devices {
 public:
  /// Makes them, all of them working.
  Devices(DaemonProcess& daemon, std::size_t kind, unsigned seed);

  std::string name() const { return "soak.dev/" + label_; }
  /// The resource, as the daemon's file has it.
  std::string Toml() const;

  /// A few changes in a row, so that some undo others.
  void Change();
  void MakeAllWork();
  void RemoveAll();

  /// Waits until the kubelet's table says exactly what is so. Returns by how many devices that
  /// differs from the last time; fails the test, and returns nothing, where it never does.
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
