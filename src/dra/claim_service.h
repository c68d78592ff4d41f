#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "dra/claim.h"

namespace patchbay {

/// The result of each claim, by UID: its devices, none after Unprepare.
using ClaimResults = std::map<std::string, Result<std::vector<PreparedRequest>>>;

/// The limits of one call. A canceled call continues: the kubelet calls again with the same claims.
struct ClaimCall {
  /// The kubelet gives up at this time and calls again later.
  std::chrono::steady_clock::time_point deadline;
};

/// Prepares claims for the containers of this node. Interface, so that the servers depend neither
/// on hooks nor on the API server.
///
/// The kubelet repeats calls, also for claims that are prepared and after restarts of either side,
/// so both functions are idempotent. During a rolling update, another process gets calls as well:
/// an implementation locks what they share.
///
/// The server has checked that the UID of a claim is IsUid, and that its names are DNS names, so
/// each can be part of a path. The claim need not exist any more.
///
/// Called on the RPC thread. The functions return immediately and may call `done`
/// before they return. `done` is called at most once, on any thread. A claim without a result has
/// failed for the kubelet; so has every claim if `done` is destroyed without a call.
class ClaimService {
 public:
  virtual ~ClaimService() = default;

  /// Makes the devices of the claims available to containers. `claims` is not empty, and no UID is
  /// in it twice.
  virtual void Prepare(std::vector<ClaimKey> claims, ClaimCall call,
                       std::function<void(ClaimResults)> done) = 0;

  /// Releases the devices of the claims. Unknown claims succeed. `claims` as above.
  virtual void Unprepare(std::vector<ClaimKey> claims, ClaimCall call,
                         std::function<void(ClaimResults)> done) = 0;
};

}  // namespace patchbay
