// The built-in kubelet as a separate program, for tests of the whole daemon. Prints one JSON object
// per line: the state of a resource whenever it changes, and a response to every command. Reads
// commands from stdin, one per line, with words separated by spaces:
//
//   start | stop | crash | restart
//   view RESOURCE | resources | calls
//   admit POD CONTAINER RESOURCE N | start_container POD CONTAINER | release POD
//   fault none|never_dial|unimplemented|unknown_error|hang [RESOURCE]
//   drop RESOURCE
//   quit                       (or the end of the input)
#include <functional>
#include <iostream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "sim/kubelet/kubelet_sim.h"

namespace patchbay {
namespace {

using Json = nlohmann::ordered_json;

/// Prints whole lines. Thread-safe.
class Printer {
 public:
  void Print(const Json& json) {
    const std::string line = json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    const std::lock_guard lock(mutex_);
    std::cout << line << std::flush;
  }

 private:
  std::mutex mutex_;
};

Json ViewJson(const std::string& resource, const ResourceView& view) {
  Json devices = Json::array();
  for (const SimDevice& d : view.devices) {
    devices.push_back({{"id", d.id}, {"health", d.health}, {"numa_nodes", d.numa_nodes}});
  }
  return {{"resource", resource},
          {"connected", view.connected},
          {"streams", view.streams},
          {"connections", view.connections},
          {"registrations", view.registrations},
          {"lists", view.lists},
          {"capacity", view.capacity},
          {"allocatable", view.allocatable},
          {"endpoint", view.endpoint},
          {"stream_error", view.stream_error},
          {"devices", std::move(devices)}};
}

Json ResponseJson(const v1beta1::ContainerAllocateResponse& response) {
  Json json = {{"envs", Json::object()},
               {"mounts", Json::array()},
               {"devices", Json::array()},
               {"cdi_devices", Json::array()}};
  for (const auto& [key, value] : response.envs()) json["envs"][key] = value;
  for (const auto& m : response.mounts()) {
    json["mounts"].push_back({{"container_path", m.container_path()},
                              {"host_path", m.host_path()},
                              {"read_only", m.read_only()}});
  }
  for (const auto& d : response.devices()) {
    json["devices"].push_back({{"container_path", d.container_path()},
                               {"host_path", d.host_path()},
                               {"permissions", d.permissions()}});
  }
  for (const auto& c : response.cdi_devices()) json["cdi_devices"].push_back(c.name());
  return json;
}

Json StatusJson(const Status& status) {
  if (status) return {{"ok", true}};
  return {{"ok", false}, {"error", status.error().message}};
}

Json Admit(KubeletSim& kubelet, std::istream& words) {
  std::string pod, container, resource;
  int n = 0;
  words >> pod >> container >> resource >> n;
  const auto admitted = kubelet.Admit(pod, container, resource, n);
  if (!admitted) return {{"ok", false}, {"error", admitted.error().message}};
  return {
      {"ok", true}, {"ids", admitted->device_ids}, {"response", ResponseJson(admitted->response)}};
}

Json StartContainer(KubeletSim& kubelet, std::istream& words) {
  std::string pod, container;
  words >> pod >> container;
  return StatusJson(kubelet.StartContainer(pod, container));
}

Json Calls(const KubeletSim& kubelet) {
  Json calls = Json::array();
  for (const RegisterCall& call : kubelet.RegisterCalls()) {
    calls.push_back({{"resource", call.resource},
                     {"endpoint", call.endpoint},
                     {"version", call.version},
                     {"answered", call.answered},
                     {"code", call.code}});
  }
  return {{"ok", true}, {"calls", std::move(calls)}};
}

Json SetFault(KubeletSim& kubelet, std::istream& words) {
  static const std::map<std::string, RegisterFault> kFaults = {
      {"none", RegisterFault::kNone},
      {"never_dial", RegisterFault::kNeverDial},
      {"never_watch", RegisterFault::kNeverWatch},
      {"unimplemented", RegisterFault::kUnimplemented},
      {"unknown_error", RegisterFault::kUnknownError},
      {"hang", RegisterFault::kHang},
  };
  std::string fault, resource;
  words >> fault >> resource;
  const auto found = kFaults.find(fault);
  if (found == kFaults.end()) return {{"ok", false}, {"error", "no such fault"}};
  kubelet.SetRegisterFault(found->second, resource);
  return {{"ok", true}};
}

Json Obey(KubeletSim& kubelet, const std::string& command, std::istream& words) {
  if (command == "start") return StatusJson(kubelet.Start());
  if (command == "restart") return StatusJson(kubelet.Restart());
  if (command == "admit") return Admit(kubelet, words);
  if (command == "start_container") return StartContainer(kubelet, words);
  if (command == "calls") return Calls(kubelet);
  if (command == "fault") return SetFault(kubelet, words);
  std::string argument;
  words >> argument;
  if (command == "stop") {
    kubelet.Stop();
  } else if (command == "crash") {
    kubelet.Crash();
  } else if (command == "release") {
    kubelet.Release(argument);
  } else if (command == "drop") {
    kubelet.DropStreams(argument);
  } else if (command == "resources") {
    return {{"ok", true}, {"resources", kubelet.Resources()}};
  } else if (command == "view") {
    const auto view = kubelet.View(argument);
    return {{"ok", true}, {"view", view ? ViewJson(argument, *view) : Json(nullptr)}};
  } else {
    return {{"ok", false}, {"error", "no such command"}};
  }
  return {{"ok", true}};
}

/// Prints every resource whose state has changed since it was last printed.
void PrintChanges(const KubeletSim& kubelet, Printer& printer, std::map<std::string, Json>& last) {
  std::map<std::string, Json> now;
  for (const std::string& resource : kubelet.Resources()) {
    if (const auto view = kubelet.View(resource)) now[resource] = ViewJson(resource, *view);
  }
  for (const auto& [resource, view] : now) {
    if (const auto old = last.find(resource); old == last.end() || old->second != view) {
      printer.Print({{"event", "view"}, {"view", view}});
    }
  }
  for (const auto& [resource, view] : last) {
    if (!now.contains(resource)) printer.Print({{"event", "gone"}, {"resource", resource}});
  }
  last = std::move(now);
}

KubeletProfile ProfileOf(std::string_view name) {
  if (name == "async") return KubeletProfile::kAsync;
  if (name == "multi") return KubeletProfile::kMulti;
  return KubeletProfile::kSync;
}

int Main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: kubelet_sim_driver DIRECTORY [sync|async|multi [POD_RESOURCES_SOCKET]]\n";
    return 2;
  }
  KubeletSimOptions options;
  options.directory = argv[1];
  if (argc > 2) options.profile = ProfileOf(argv[2]);
  if (argc > 3) options.pod_resources = argv[3];
  const auto created = KubeletSim::Create(options);
  if (!created) {
    std::cerr << created.error().message << "\n";
    return 1;
  }
  KubeletSim& kubelet = **created;

  Printer printer;
  std::jthread events([&](const std::stop_token& stop) {
    std::map<std::string, Json> last;
    while (!stop.stop_requested()) {
      kubelet.Await(
          [&] {
            PrintChanges(kubelet, printer, last);
            return stop.stop_requested();
          },
          std::chrono::milliseconds(200));
    }
  });
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command;
    words >> command;
    if (command == "quit") break;
    Json answer = {{"answer", command}};
    answer.update(Obey(kubelet, command, words));
    printer.Print(answer);
  }
  return 0;
}

}  // namespace
}  // namespace patchbay

int main(int argc, char** argv) { return patchbay::Main(argc, argv); }
