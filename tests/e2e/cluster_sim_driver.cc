// The cluster around one Kubernetes node with Dynamic Resource Allocation as a separate program,
// for tests of the whole daemon: the built-in API server with a scheduler, and the DRA side of the
// built-in kubelet. Prints one JSON object per line: first {"daemon_keys": TEXT, "cdi_dir":
// DIRECTORY} with the lines for [daemon] that the daemon needs, then a response to every command.
// Reads commands from stdin, one per line, with words separated by spaces:
//
//   await_published N          until the driver is registered and has published N devices
//   slices                     the specs of all ResourceSlices
//   class RESOURCE             creates a DeviceClass
//   prepare CLAIM RESOURCE     creates a claim for one device, allocates it, and prepares it for a
//                              pod with the name of the claim
//   release CLAIM              unprepares the claim and deletes it
//   claim_files                the number of CDI files of claims
//   stop_server | start_server
//   drop_fields                from now on like Kubernetes 1.34, which drops taints
//   quit                       (or the end of the input)
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/dra_cluster.h"

namespace patchbay::test {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::chrono::seconds kClusterPatience{20};

void Print(const OrderedJson& json) {
  std::cout << json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) << std::endl;
}

OrderedJson ResultJson(const Status& status) {
  if (status) return {{"ok", true}};
  return {{"ok", false}, {"error", status.error().message}};
}

class Commands {
 public:
  Commands(const std::string& kubelet_root, const std::string& node)
      : cluster_(kubelet_root, {}, node) {
    Print({{"daemon_keys", cluster_.DaemonKeys()}, {"cdi_dir", cluster_.cdi_dir()}});
  }

  OrderedJson Run(const std::string& command, std::istream& words) {
    std::string argument;
    words >> argument;
    if (command == "await_published") return AwaitPublished(std::stoul(argument));
    if (command == "slices") return {{"ok", true}, {"slices", Slices()}};
    if (command == "prepare") {
      std::string resource;
      words >> resource;
      return Prepare(argument, resource);
    }
    if (command == "release") return Release(argument);
    if (command == "claim_files") return {{"ok", true}, {"files", cluster_.ClaimFiles().size()}};
    if (command == "start_server") return ResultJson(cluster_.server().Start());
    if (command == "stop_server") {
      cluster_.server().Stop();
    } else if (command == "drop_fields") {
      cluster_.server().SetProfile(api_sim::ApiProfile::k1_34);
    } else if (command == "class") {
      cluster_.CreateClass(argument);
    } else {
      return {{"ok", false}, {"error", "no such command"}};
    }
    return {{"ok", true}};
  }

 private:
  OrderedJson AwaitPublished(std::size_t devices) {
    const auto is_registered = [&] { return cluster_.IsRegistered(); };
    const auto is_published = [&] { return cluster_.CountPublished() == devices; };
    return {{"ok", cluster_.kubelet().Await(is_registered, kClusterPatience) &&
                       cluster_.server().Await(is_published, kClusterPatience)}};
  }

  OrderedJson Slices() {
    const OrderedJson list =
        OrderedJson::parse(cluster_.server().Call("GET", DraCluster::kSlices).body);
    OrderedJson specs = OrderedJson::array();
    for (const OrderedJson& slice : list["items"]) specs.push_back(slice["spec"]);
    return specs;
  }

  OrderedJson Prepare(const std::string& name, const std::string& resource) {
    const SimClaim& claim = claims_[name] = cluster_.CreateClaim(name, resource);
    const Status allocated = cluster_.Allocate(claim);
    if (!allocated) return ResultJson(allocated);
    const auto prepared = cluster_.kubelet().PrepareClaims(name, {claim});
    if (!prepared) return ResultJson(Failure(prepared.error()));
    const std::vector<SimPreparedDevice>& devices = prepared->at(claim.uid);
    OrderedJson names = OrderedJson::array();
    for (const SimPreparedDevice& device : devices) names.push_back(device.device);
    return {{"ok", true}, {"devices", std::move(names)}, {"cdi_devices", CdiDevicesOf(devices)}};
  }

  OrderedJson Release(const std::string& name) {
    const Status released = cluster_.kubelet().UnprepareClaims(name);
    if (released) cluster_.DeleteClaim(claims_.at(name));
    return ResultJson(released);
  }

  DraCluster cluster_;
  std::map<std::string, SimClaim> claims_;  ///< by name
};

}  // namespace
}  // namespace patchbay::test

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: cluster_sim_driver KUBELET_ROOT NODE\n";
    return 2;
  }
  patchbay::test::Commands commands(argv[1], argv[2]);
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command;
    words >> command;
    if (command == "quit") break;
    nlohmann::ordered_json answer = {{"answer", command}};
    answer.update(commands.Run(command, words));
    patchbay::test::Print(answer);
  }
  return 0;
}
