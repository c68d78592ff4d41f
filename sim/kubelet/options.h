#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/kubelet/dra_claims.h"

namespace patchbay {

/// The behavior of registration, by version of the kubelet.
enum class KubeletProfile {
  kAsync,  ///< up to 1.24: Register returns immediately and dials later
  kSync,   ///< 1.25 to 1.36: Register dials before it returns; the last registration wins
  kMulti,  ///< 1.37 and later: like kSync, with several sockets per resource
};

/// The files that a kubelet removes from its device plugin directory at start. Subdirectories and
/// the checkpoint always remain.
enum class KubeletCleanup {
  kAllFiles,     ///< up to 1.32
  kSocketsOnly,  ///< later
};

/// The `:authority` of connections from the kubelet to a plugin.
enum class KubeletAuthority {
  kLocalhost,   ///< 1.26 and later
  kSocketPath,  ///< up to 1.24
};

/// A fault of the PodResources server.
enum class PodResourcesFault {
  kNone,
  kAbsent,         ///< the socket does not exist
  kOnlyV1alpha1,   ///< a kubelet before 1.20
  kUnimplemented,  ///< another service listens on the socket
  kRateLimited,    ///< RESOURCE_EXHAUSTED
  kUnknownError,   ///< UNKNOWN
  kHang,           ///< no response until the call is cancelled
  kGarbage,        ///< a response that does not parse
  kTooLong,        ///< a response of more than 16 MiB
};

struct KubeletSimOptions {
  std::string directory;  ///< replaces /var/lib/kubelet/device-plugins; created if absent
  KubeletProfile profile = KubeletProfile::kSync;
  /// For kMulti: a second registration of a connected socket is ignored with OK, not rejected.
  bool silent_dedupe = false;
  std::optional<KubeletCleanup> cleanup = {};      ///< unset: that of the profile
  std::optional<KubeletAuthority> authority = {};  ///< unset: that of the profile
  /// The time between the creation of kubelet.sock, when connecting succeeds, and the first accept.
  std::chrono::milliseconds accept_delay{0};
  /// The speed of the 5-minute grace period: 3000 makes it 100 ms.
  double clock_scale = 1;
  std::chrono::milliseconds dial_timeout{10'000};
  std::chrono::milliseconds pre_start_timeout{30'000};
  /// The socket of the PodResources API, instead of /var/lib/kubelet/pod-resources/kubelet.sock.
  /// Its directory is created if absent. Empty: not served.
  std::string pod_resources = {};
  /// Returns the claims of the DRA manager, which the PodResources API reports: that is
  /// DraManager::Claims. Called on any thread, without a lock.
  std::function<std::vector<DraClaims::Entry>()> prepared_claims = [] {
    return std::vector<DraClaims::Entry>();
  };
  std::uint64_t seed = 0;  ///< of the random orders; 0: a random seed
};

}  // namespace patchbay
