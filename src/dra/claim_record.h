#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dra/claim_plan.h"
#include "dra/claim_service.h"

namespace patchbay {

/// The record of a prepared claim: a file in the driver's directory. It is what Patchbay knows
/// about a claim; the CDI file, from which runtimes read, is made from it. All functions are pure.

/// The devices of one resource that are prepared for a request of a claim.
struct PreparedRequest {
  std::string request;
  std::string resource;
  std::vector<PlannedDevice> devices;    ///< at least one
  std::vector<std::string> cdi_devices;  ///< "vendor/class=name", for the first of the devices
  std::vector<std::string> nodes = {};   ///< of all devices: "c 188:0 /dev/ttyUSB0"
  std::string config = {};               ///< a hash of the templates of the resource
  std::string values = {};               ///< a hash of the variables that they had
  bool operator==(const PreparedRequest&) const = default;
};

struct PreparedClaim {
  ClaimKey claim;
  std::vector<PreparedRequest> requests;
  std::string boot = {};  ///< the boot of the host in which the hooks ran
  /// False: hooks of the claim may have run in part, before or after containers had it. There is no
  /// CDI file, Prepare runs all hooks again, and Unprepare runs `release`.
  bool is_finished = false;
  std::string cdi_file = {};  ///< its text
  bool operator==(const PreparedClaim&) const = default;
};

/// The size of a record in bytes: the text of the CDI file is in it, with escapes.
inline constexpr std::size_t kMaxRecordBytes = std::size_t{32} << 20U;

/// Returns the text of the record; equal records have equal texts.
std::string RecordToJson(const PreparedClaim& record);

/// Parses the record of the claim with this UID. Fails with kPrecondition for another version, and
/// with kInvalid for any other text that RecordToJson does not return.
Result<PreparedClaim> RecordFromJson(std::string_view text, std::string_view uid);

/// Returns the answer to the kubelet: an entry for each device, in order. The first device of a
/// request has the CDI devices of all of them, because templates can join several devices.
std::vector<PreparedDevice> AnswerFor(const PreparedClaim& prepared);

/// Returns the devices of all requests.
std::vector<PlannedDevice> DevicesOf(const PreparedClaim& prepared);

/// Returns whether a claim is prepared with the devices that are allocated to it, for the same
/// requests and shares.
bool IsAllocatedAsPrepared(const ResourceClaim& claim, const PreparedClaim& prepared);

}  // namespace patchbay
