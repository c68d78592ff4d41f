#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "sim/api_server/request.h"

namespace patchbay::api_sim {

/// A failure of the server or the network. "Performed" requests change the store.
enum class FaultType {
  kError,          ///< the response is `code` with a Status object; not performed
  kReset,          ///< the connection is reset; not performed
  kEndlessBody,    ///< 200 and spaces without end; not performed
  kLoseResponse,   ///< performed, then the connection is reset without a response
  kSlowBody,       ///< performed; the response arrives byte by byte, one per millisecond
  kMalformedJson,  ///< performed; the body, or the first event of a watch, is cut in half
  kCutBody,        ///< performed; the connection is closed in the middle of the body
};

/// Returns whether a request with this fault changes the store.
bool IsPerformed(FaultType type);

/// A fault of the requests that match.
struct Fault {
  FaultType type = FaultType::kError;
  int times = 1;                                         ///< of how many requests; 0: of all
  std::optional<Verb> verb = {};                         ///< unset: any
  int code = 500;                                        ///< of kError
  std::optional<std::chrono::seconds> retry_after = {};  ///< of kError
};

/// Returns the fault of a request, which is the first one that matches it, and counts it.
std::optional<Fault> TakeFault(std::vector<Fault>& faults, Verb verb);

/// Returns the error of kError.
ApiError ErrorOf(const Fault& fault);

}  // namespace patchbay::api_sim
