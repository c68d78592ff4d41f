#include "soak/devices.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <vector>

#include "base/format.h"

namespace patchbay::test {

/// Behaves as the state of the device requires. Its argument is the file with the state.
const std::string_view kProbeProgram = R"(#!/bin/sh
read -r state < "$1"
case $state in
ok) ;;
loud) head -c 1000000 /dev/zero ;;
fails) echo "no answer"; exit 1 ;;
crashes) kill -SEGV $$ ;;
hangs) trap '' TERM; exec sleep 1000 ;;
bomb) trap '' TERM; for i in 1 2 3 4 5 6 7 8 9 10; do sleep 1000 & done; wait ;;
esac
)";

namespace {

constexpr std::size_t kDevices = 6;  ///< of each resource

/// A kind of resource: how its devices are probed, and the states in which they work or are broken.
struct Kind {
  std::string_view forget_after;
  std::string_view health;  ///< lines of [resource.health]; {0} is the host, {1} the resource
  std::vector<std::string_view> working;
  std::vector<std::string_view> broken;
  bool is_remembered;  ///< a device that vanished stays listed
};

const Kind& KindOf(std::size_t number) {
  static const std::array<Kind, kKinds> kinds = {{
      {"24h",
       "file = \"/state/{1}-{{name}}\"\nequals = \"ok\"\nperiod = \"200ms\"\n"
       "failure_threshold = 1\n",
       {"ok"},
       {"broken", "okay", ""},
       true},
      {"300ms",
       "file = \"/state/{1}-{{name}}\"\nmatches = \"ok|up\"\nperiod = \"100ms\"\n"
       "failure_threshold = 2\nsuccess_threshold = 2\nbefore_first = \"unhealthy\"\n",
       {"ok", "up"},
       {"down", "okup"},
       false},
      {"24h",
       "command = [\"{0}/probe\", \"{0}/state/{1}-{{name}}\"]\nperiod = \"500ms\"\n"
       "timeout = \"400ms\"\nfailure_threshold = 1\n",
       {"ok", "ok", "ok", "loud"},
       {"fails", "crashes", "hangs", "bomb"},
       true},
      {"300ms",
       "command = [\"{0}/probe\", \"{0}/state/{1}-{{name}}\"]\nperiod = \"300ms\"\n"
       "timeout = \"1s\"\nfailure_threshold = 2\nbefore_first = \"unhealthy\"\n",
       {"ok"},
       {"fails", "hangs", "crashes", "hangs"},
       false},
  }};
  return kinds[number];
}

std::string Id(std::size_t number) { return Format("n{}", number); }

}  // namespace

Devices::Devices(DaemonProcess& daemon, std::size_t kind, unsigned seed)
    : host_(daemon.host()),
      kubelet_(daemon.kubelet()),
      kind_(kind),
      label_(Format("r{}", kind)),
      random_(seed) {
  MakeAllWork();
}

std::string Devices::Toml() const {
  return Format(
      "[[resource]]\nname = \"{}\"\nforget_after = \"{}\"\n[[resource.match]]\n"
      "path = \"/dev/{}/n*\"\n[resource.health]\n{}\n",
      name(), KindOf(kind_).forget_after, label_,
      fmt::format(fmt::runtime(KindOf(kind_).health), host_.path(), label_));
}

void Devices::Change() {
  for (std::size_t left = 1 + Random(4); left > 0; --left) {
    const std::string id = Id(Random(kDevices));
    if (Random(4) == 0) {
      SetPresent(id, !present_[id]);
    } else {
      SetWorking(id, Random(2) == 0);
    }
  }
}

void Devices::MakeAllWork() {
  for (std::size_t i = 0; i < kDevices; ++i) {
    SetWorking(Id(i), true);
    SetPresent(Id(i), true);
  }
}

void Devices::RemoveAll() {
  for (std::size_t i = 0; i < kDevices; ++i) SetPresent(Id(i), false);
}

std::optional<std::size_t> Devices::Follow() {
  Health expected;
  for (const auto& [id, present] : present_) {
    if (!present && !KindOf(kind_).is_remembered) continue;
    expected[id] = present && working_[id] ? "Healthy" : "Unhealthy";
  }
  if (!kubelet_.Await([&] { return AsListed() == expected; }, kPatience)) {
    ADD_FAILURE() << name() << ": expected\n  " << testing::PrintToString(expected)
                  << "\nbut the kubelet has\n  " << testing::PrintToString(AsListed());
    return std::nullopt;
  }
  std::size_t changes = 0;
  for (std::size_t i = 0; i < kDevices; ++i) changes += expected[Id(i)] != followed_[Id(i)] ? 1 : 0;
  followed_ = expected;
  return changes;
}

Devices::Health Devices::AsListed() const {
  Health health;
  const auto view = kubelet_.View(name());
  if (!view || !view->connected) return {{"no plugin", ""}};
  for (const SimDevice& device : view->devices) health[device.id] = device.health;
  return health;
}

void Devices::SetPresent(const std::string& id, bool present) {
  if (present == present_[id]) return;
  const std::string node = Format("dev/{}/{}", label_, id);
  present ? host_.CharDevice(node) : host_.Remove(node);
  present_[id] = present;
}

/// Replaces the state atomically, as a driver does: readers get either the old or the new text.
void Devices::SetWorking(const std::string& id, bool working) {
  const auto& states = working ? KindOf(kind_).working : KindOf(kind_).broken;
  const std::string file = Format("state/{}-{}", label_, id);
  host_.File(file + ".new", states[Random(states.size())]);
  std::filesystem::rename(host_.path(file + ".new"), host_.path(file));
  working_[id] = working;
}

}  // namespace patchbay::test
