#pragma once

#include <google/protobuf/io/zero_copy_stream.h>

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "model/pod_usage.h"
#include "podresources.pb.h"

namespace patchbay {

/// More than any node has. Further entries of a message are ignored.
inline constexpr std::size_t kMaxHoldings = 100'000;

/// The content of a List response, without duplicates.
struct ReportedHolders {
  Holders holders;  ///< of the devices of device plugins
  /// Of the devices of ResourceClaims, by the name of their DRA driver: all drivers of the node.
  std::map<std::string, DriverHolders> claim_holders = {};
  bool complete = true;      ///< there were at most kMaxHoldings of both kinds
  std::string kubelet = {};  ///< identifies the kubelet process that sent it

  bool operator==(const ReportedHolders&) const = default;
};

/// Converts a List response (kubernetes/kubelet, pkg/apis/podresources/v1/api.proto). Ignores
/// entries without a resource or an ID, or without a driver, a pool or a device, and those longer
/// than a plugin or a driver can have. Truncates names of pods, namespaces, containers and claims
/// that are longer than Kubernetes allows, instead of ignoring them: a device in use must not look
/// free.
ReportedHolders ReadHolders(const v1::ListPodResourcesResponse& message);

/// Parses the bytes of a List response, one pod at a time: a parsed response of 16 MiB would take
/// several times that amount of memory. Returns nothing if the bytes are not valid.
std::optional<ReportedHolders> ReadHolders(google::protobuf::io::ZeroCopyInputStream& bytes);

}  // namespace patchbay
