#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "api_server_sim/request.h"

namespace patchbay::api_sim {

/// A failure of the server or the network. "Performed" requests change the store.
enum class FaultType {
  kError,          ///< the response is `code` with a Status object; not performed
  kReset,          ///< the connection is reset; not performed
  kLoseResponse,   ///< performed, then the connection is reset without a response
  kHang,           ///< no response until the client closes the connection; not performed
  kSlowBody,       ///< performed; the response arrives byte by byte, one per `pace`
  kEndlessBody,    ///< 200 and spaces without end; not performed
  kMalformedJson,  ///< performed; the body, or the first event of a watch, is cut in half
  kCutBody,        ///< performed; the connection is closed in the middle of the body
};

/// Returns whether a request with this fault changes the store.
bool IsPerformed(FaultType type);

/// A fault of the requests that match all given conditions.
struct Fault {
  FaultType type = FaultType::kError;
  int times = 1;                                         ///< of how many requests; 0: of all
  std::optional<Verb> verb = {};                         ///< unset: any
  std::optional<Kind> kind = {};                         ///< unset: any
  int code = 500;                                        ///< of kError
  std::optional<std::chrono::seconds> retry_after = {};  ///< of kError
  std::chrono::milliseconds pace{1};                     ///< of kSlowBody
};

/// The faults that are still to come. A request gets the first one that matches it.
class FaultPlan {
 public:
  FaultPlan() = default;
  explicit FaultPlan(std::vector<Fault> faults) : faults_(std::move(faults)) {}

  /// Returns the fault of a request, and counts it.
  std::optional<Fault> Take(Verb verb, Kind kind);
  /// Returns how many faults with a limited number are still to come.
  int Left() const;

 private:
  std::vector<Fault> faults_;
};

/// Returns the error of kError.
ApiError ErrorOf(const Fault& fault);

}  // namespace patchbay::api_sim
