#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace patchbay {

/// The file in the kubelet's root with the claims of all pods.
inline constexpr char kDraStateName[] = "dra_manager_state";

/// A ResourceClaim whose allocation has devices of one driver.
struct SimClaim {
  std::string namespace_name;
  std::string name;
  std::string uid;
  std::string driver;

  bool operator==(const SimClaim&) const = default;
};

/// A device that a driver has prepared for a claim.
struct SimPreparedDevice {
  std::vector<std::string> requests;
  std::string pool;
  std::string device;
  std::vector<std::string> cdi_devices;
  std::optional<std::string> share_id = {};

  bool operator==(const SimPreparedDevice&) const = default;
};

/// The devices of claims, by the UID of the claim.
using SimPreparedClaims = std::map<std::string, std::vector<SimPreparedDevice>>;

/// Returns the CDI names that a container gets which uses a request of a claim, in the order of the
/// response of the driver. All devices of the claim if `request` is empty.
std::vector<std::string> CdiDevicesOf(const std::vector<SimPreparedDevice>& devices,
                                      const std::string& request = "");

/// The response of a driver for one claim.
struct SimClaimAnswer {
  std::string error;  ///< empty: success
  std::vector<SimPreparedDevice> devices;
};
using SimClaimAnswers = std::map<std::string, SimClaimAnswer>;  ///< by UID

/// Performs the checks of the kubelet on the response to a call for `claims`: an error of a claim,
/// an unknown claim or a missing one. Fails with kUnavailable and the error message of the kubelet,
/// which begins with `rpc`, the name of the call.
Status CheckClaimAnswers(const std::string& rpc, const std::vector<SimClaim>& claims,
                         const SimClaimAnswers& answers);

/// The claims of the pods of the node, and which of them are prepared (manager.go and claiminfo.go
/// of the kubelet's DRA manager). Pure, not thread-safe.
class DraClaims {
 public:
  struct Entry {
    SimClaim claim;
    std::set<std::string> pods;  ///< UIDs
    bool prepared = false;       ///< false after a restart
    std::vector<SimPreparedDevice> devices;

    bool operator==(const Entry&) const = default;
  };

  /// Adds the pod to its claims. Returns those that are not prepared. Fails with kPrecondition, and
  /// changes nothing, if a claim of the same name with another UID still exists.
  Result<std::vector<SimClaim>> BeginPrepare(const std::string& pod,
                                             const std::vector<SimClaim>& claims);
  /// Records the response of a driver for a claim. Ignores claims that were removed meanwhile.
  void SetDevices(const SimClaim& claim, std::vector<SimPreparedDevice> devices);
  void SetPrepared(const SimClaim& claim);
  /// Returns the devices of claims that exist.
  SimPreparedClaims Devices(const std::vector<SimClaim>& claims) const;

  /// Removes the pod from the claims that other pods have too. Returns its other claims, which the
  /// caller must unprepare.
  std::vector<SimClaim> BeginUnprepare(const std::string& pod);
  void Remove(const SimClaim& claim);

  /// Returns the pods that have claims.
  std::set<std::string> Pods() const;
  /// Returns all claims, ordered by namespace and name.
  std::vector<Entry> List() const;

  /// Returns the JSON of dra_manager_state. Like there, `prepared` is not part of it.
  std::string Encode() const;
  /// Parses that JSON. Fails with kInvalid.
  static Result<DraClaims> Decode(const std::string& text);

 private:
  using Key = std::pair<std::string, std::string>;  ///< namespace and name

  static Key KeyOf(const SimClaim& claim) { return {claim.namespace_name, claim.name}; }
  /// Returns the entry of exactly this claim, or null.
  Entry* Find(const SimClaim& claim);

  std::map<Key, Entry> entries_;
};

}  // namespace patchbay
