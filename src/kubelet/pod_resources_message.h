#pragma once

#include <google/protobuf/io/zero_copy_stream.h>

#include <cstddef>
#include <optional>
#include <string>

#include "model/pod_usage.h"
#include "podresources.pb.h"

namespace patchbay {

/// No node has so many; what a message says beyond it is left out.
inline constexpr std::size_t kMaxHoldings = 100'000;

/// What the kubelet's answer says, with everything it repeats said once.
struct ReportedHolders {
  Holders holders;
  bool complete = true;      ///< there were no more than kMaxHoldings
  std::string kubelet = {};  ///< who said it: another one for each run of the kubelet

  bool operator==(const ReportedHolders&) const = default;
};

/// Reads the answer of List. Entries without a resource or an ID are no devices, nor are IDs or
/// resources longer than any plugin may have. Names of pods, namespaces and containers that are
/// longer than Kubernetes allows are cut: what somebody holds must not look free.
ReportedHolders ReadHolders(const v1::ListPodResourcesResponse& message);

/// The same of its bytes, one pod at a time: as one message an answer of 16 MiB would take several
/// times that. Nothing where they are no such message.
std::optional<ReportedHolders> ReadHolders(google::protobuf::io::ZeroCopyInputStream& bytes);

}  // namespace patchbay
