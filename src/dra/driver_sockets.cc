#include "dra/driver_sockets.h"

#include <absl/strings/escaping.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

#include "base/ascii.h"
#include "base/format.h"
#include "dra/sha256.h"
#include "model/object_name.h"
#include "model/spec.h"
#include "rpc/socket_file.h"

namespace patchbay {
namespace {

/// The numbers of bytes of the hash of a pod UID, and of a driver and a pod UID.
constexpr std::size_t kUidHash = 8, kBothHash = 16;
constexpr std::string_view kRegistrationEnd = "-reg.sock";
constexpr std::string_view kDraStart = "dra-", kSocketEnd = ".sock";

/// Returns the first `bytes` bytes of the SHA-256 hash of `text`, as base64url without padding.
std::string ShortHash(std::string_view text, std::size_t bytes) {
  const auto hash = Sha256(text);
  return absl::WebSafeBase64Escape({reinterpret_cast<const char*>(hash.data()), bytes});
}

/// Returns the first path that fits into a socket address, or the last one.
std::string FirstThatFits(const std::vector<std::string>& paths) {
  const auto fits = std::find_if(paths.begin(), paths.end(), [](const std::string& path) {
    return path.size() <= kMaxSocketPath;
  });
  return fits == paths.end() ? paths.back() : *fits;
}

Status CheckLength(const std::string& path) {
  if (path.size() <= kMaxSocketPath) return {};
  return Fail(ErrorKind::kInvalid,
              Format("the path of the socket {} is longer than {} bytes; choose a shorter driver "
                     "name, or a shorter path of the kubelet's directory",
                     path, kMaxSocketPath));
}

bool IsHexOrDash(char c) { return IsLowerHex(c) || c == '-'; }

/// Returns whether the text stands for a pod in a socket name: a UID as the API server or, for
/// static pods, the kubelet makes it, or its hash.
bool IsPodPart(std::string_view text) {
  constexpr std::size_t kUuid = 36, kStaticUid = 32, kHash = 11;
  if (text.size() == kHash) {
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return IsAlnum(c) || c == '-' || c == '_'; });
  }
  return (text.size() == kUuid || text.size() == kStaticUid) &&
         std::all_of(text.begin(), text.end(), IsHexOrDash);
}

/// Returns whether `name` consists of `start`, the part of a pod, and `end`.
bool IsOfAPod(std::string_view start, std::string_view name, std::string_view end) {
  if (name.size() < start.size() + end.size() || !name.starts_with(start) || !name.ends_with(end)) {
    return false;
  }
  return IsPodPart(name.substr(start.size(), name.size() - start.size() - end.size()));
}

}  // namespace

DriverSockets SocketsOf(const DriverInstance& instance) {
  const auto& [root, driver, uid] = instance;
  DriverSockets sockets;
  sockets.registry = root + "/plugins_registry";
  sockets.data = Format("{}/plugins/{}", root, driver);
  if (uid.empty()) {
    sockets.dra = sockets.data + "/dra.sock";
    sockets.registration = Format("{}/{}{}", sockets.registry, driver, kRegistrationEnd);
  } else if (!IsUid(uid)) {
    sockets.usable =
        Fail(ErrorKind::kInvalid,
             "the pod UID is not valid; set POD_UID from the field metadata.uid of the pod");
    return sockets;
  } else {
    const std::string hash = ShortHash(uid, kUidHash);
    sockets.dra = FirstThatFits({Format("{}/{}{}{}", sockets.data, kDraStart, uid, kSocketEnd),
                                 Format("{}/{}{}{}", sockets.data, kDraStart, hash, kSocketEnd)});
    sockets.registration =
        FirstThatFits({Format("{}/{}-{}{}", sockets.registry, driver, uid, kRegistrationEnd),
                       Format("{}/{}-{}{}", sockets.registry, driver, hash, kRegistrationEnd),
                       Format("{}/dra-{}{}", sockets.registry,
                              ShortHash(driver + '\0' + uid, kBothHash), kRegistrationEnd)});
  }
  sockets.usable = CheckLength(sockets.dra);
  if (sockets.usable) sockets.usable = CheckLength(sockets.registration);
  return sockets;
}

bool IsRegistrationSocketOf(std::string_view driver, std::string_view name) {
  return name == std::string(driver).append(kRegistrationEnd) ||
         IsOfAPod(std::string(driver) + "-", name, kRegistrationEnd);
}

std::vector<std::string> SweepStaleSockets(std::string_view driver, const DriverSockets& sockets) {
  std::vector<std::string> removed;
  const auto remove_if_stale = [&](const std::string& path) {
    if (!MayBeBound(path) && unlink(path.c_str()) == 0) removed.push_back(path);
  };
  ForEachSocket(sockets.data, [&](const std::string& name, const std::string& path) {
    const bool is_of_any =
        path == sockets.dra || name == "dra.sock" || IsOfAPod(kDraStart, name, kSocketEnd);
    if (is_of_any) remove_if_stale(path);
  });
  ForEachSocket(sockets.registry, [&](const std::string& name, const std::string& path) {
    if (path == sockets.registration || IsRegistrationSocketOf(driver, name)) {
      remove_if_stale(path);
    }
  });
  return removed;
}

}  // namespace patchbay
