#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dra/claim.h"

namespace patchbay {

/// The record of a prepared claim: a file in the driver's directory. It is what Patchbay knows
/// about a claim; the CDI file, from which runtimes read, is made from it. All functions are pure.

/// The size of a record in bytes: the text of the CDI file is in it, with escapes.
inline constexpr std::size_t kMaxRecordBytes = std::size_t{32} << 20U;

/// Returns the name of the file with the record of a claim.
std::string RecordName(std::string_view uid);

/// Returns the text of the record; equal records have equal texts.
std::string RecordToJson(const PreparedClaim& record);

/// Parses the record of the claim with this UID. Fails with kPrecondition for another version, and
/// with kInvalid for any other text that RecordToJson does not return.
Result<PreparedClaim> RecordFromJson(std::string_view text, std::string_view uid);

/// Returns the devices of all requests.
std::vector<PreparedDevice> DevicesOf(const PreparedClaim& prepared);

/// Returns whether a claim is prepared with the devices that are allocated to it, for the same
/// requests and shares.
bool IsAllocatedAsPrepared(const ResourceClaim& claim, const PreparedClaim& prepared);

}  // namespace patchbay
