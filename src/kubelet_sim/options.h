#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace patchbay {

/// How registration behaves, by era of the kubelet.
enum class KubeletProfile {
  kAsync,  ///< up to 1.24: Register answers at once and dials later
  kSync,   ///< 1.25-1.36: Register dials back before it answers; the newest registration wins
  kMulti,  ///< 1.37 on: as kSync, with several sockets tracked per resource
};

/// What a starting kubelet removes from its device plugin directory. Sub-directories and the
/// checkpoint always stay.
enum class KubeletCleanup {
  kAllFiles,     ///< up to 1.32
  kSocketsOnly,  ///< later
};

/// What a kubelet says in `:authority` when it dials a plugin.
enum class KubeletAuthority {
  kLocalhost,   ///< 1.26 on
  kSocketPath,  ///< up to 1.24
};

/// What the PodResources server does instead of saying who holds what.
enum class PodResourcesFault {
  kNone,
  kAbsent,         ///< there is no socket
  kOnlyV1alpha1,   ///< a kubelet before 1.20
  kUnimplemented,  ///< another service sits on the socket
  kRateLimited,    ///< RESOURCE_EXHAUSTED
  kUnknownError,   ///< UNKNOWN
  kHang,           ///< no answer until the caller gives up
  kGarbage,        ///< an answer that does not parse
  kTooLong,        ///< an answer of more than 16 MiB
};

struct KubeletSimOptions {
  std::string directory;  ///< stands for /var/lib/kubelet/device-plugins; made if it is absent
  KubeletProfile profile = KubeletProfile::kSync;
  /// kMulti: a second registration of a connected socket is answered OK and ignored, not refused.
  bool silent_dedupe = false;
  std::optional<KubeletCleanup> cleanup = {};      ///< unset: as in the era of the profile
  std::optional<KubeletAuthority> authority = {};  ///< unset: as in the era of the profile
  /// From kubelet.sock being there (connecting succeeds and queues) to the first accept.
  std::chrono::milliseconds accept_delay{0};
  /// How many times faster than the wall the 5 minutes of grace run out: 3000 makes them 100 ms.
  double clock_scale = 1;
  std::chrono::milliseconds dial_timeout{10'000};
  std::chrono::milliseconds pre_start_timeout{30'000};
  /// Where the PodResources API is served; stands for /var/lib/kubelet/pod-resources/kubelet.sock,
  /// its directory is made if it is absent. Empty: not served.
  std::string pod_resources = {};
  std::uint64_t seed = 0;  ///< of the random orders; 0 takes one from the system
};

}  // namespace patchbay
