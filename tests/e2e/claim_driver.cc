// A node with Dynamic Resource Allocation as a separate program, for tests of real containers: the
// daemon, the built-in API server and the DRA side of the built-in kubelet. Prints one JSON object
// per line:
//
//   {"host_root": DIRECTORY}   the root of the host, in which the test creates device nodes
//   {"cdi_dir": DIRECTORY, "cdi_devices": [NAME...]}
//                              after a line "RESOURCE FILE" on stdin: the daemon serves the
//                              resources of FILE, and a claim for a device of RESOURCE is prepared
//   {"claim_files": NUMBER}    after the end of the input: the claim was released
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "kubelet_sim/dra_claims.h"
#include "support/daemon_process.h"
#include "support/dra_cluster.h"

namespace {

using namespace patchbay;
using Json = nlohmann::json;

constexpr std::chrono::minutes kClaimPatience{1};

void Require(bool succeeded, const test::DaemonProcess& daemon, const std::string& what) {
  if (succeeded) return;
  std::fprintf(stderr, "%s\n%s\n", what.c_str(), daemon.LogTail().c_str());
  std::exit(1);
}

void Print(const Json& json) { std::cout << json.dump() << std::endl; }

}  // namespace

int main() {
  test::DaemonProcess daemon;
  test::DraCluster cluster(daemon.kubelet_root());
  Print({{"host_root", daemon.host().path()}});
  std::string resource, file;
  std::cin >> resource >> file;
  std::ifstream text(file);
  daemon.Start({std::istreambuf_iterator<char>(text), {}}, cluster.DaemonKeys());
  Require(cluster.server().Await([&] { return cluster.CountPublished() > 0; }, kClaimPatience),
          daemon, "nothing was published");
  const auto is_registered = [&] {
    const auto instances = cluster.kubelet().Instances(test::DraCluster::kDriver);
    return !instances.empty() && instances.front().in_use;
  };
  Require(cluster.kubelet().Await(is_registered, kClaimPatience), daemon,
          "the driver was not registered");
  cluster.CreateClass(resource);
  const SimClaim claim = cluster.CreateClaim("claim", resource);
  const Status allocated =
      cluster.server().Allocate(claim.namespace_name, claim.name, test::DraCluster::kNode);
  Require(allocated.has_value(), daemon, "the claim was not allocated");
  const auto prepared = cluster.kubelet().PrepareClaims("pod", {claim});
  Require(prepared.has_value(), daemon, prepared ? "" : prepared.error().message);
  Print({{"cdi_dir", cluster.cdi_dir()}, {"cdi_devices", CdiDevicesOf(prepared->at(claim.uid))}});
  while (std::cin >> file) {
  }
  Require(cluster.kubelet().UnprepareClaims("pod").has_value(), daemon,
          "the claim was not released");
  Print({{"claim_files", cluster.ClaimFiles().size()}});
}
