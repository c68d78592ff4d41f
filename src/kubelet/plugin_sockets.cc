// A name has fixed parts, which distinguish the sockets of this run, of other runs and of other
// programs. Only a socket that no process has bound is removed, see rpc/socket_file.h.

#include "kubelet/plugin_sockets.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <random>
#include <system_error>

#include "base/ascii.h"
#include "base/format.h"
#include "base/hash.h"
#include "base/path.h"
#include "model/spec.h"
#include "rpc/socket_file.h"

namespace patchbay {
namespace {

constexpr std::string_view kPrefix = "patchbay-";
constexpr std::string_view kSuffix = ".sock";

static_assert(kMaxKubeletDir + 1 + kMaxSocketName == kMaxSocketPath);

bool IsHex(std::string_view text) { return std::all_of(text.begin(), text.end(), IsLowerHex); }

struct NameParts {
  std::string_view hash;  ///< of the resource
  std::string_view run;
};

/// Parses a name of SocketName. Returns nothing for any other name.
std::optional<NameParts> PartsOf(std::string_view name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(std::min(kSuffix.size(), name.size()));
  constexpr std::size_t kHash = 16, kRun = 8;
  if (name.size() < kHash + kRun + 3 || name[kHash] != '-' || name[kHash + 1 + kRun] != '-') {
    return std::nullopt;
  }
  const auto hash = name.substr(0, kHash), run = name.substr(kHash + 1, kRun);
  if (!IsHex(hash) || !IsHex(run) || !IsHex(name.substr(kHash + kRun + 2))) return std::nullopt;
  return NameParts{hash, run};
}

/// Calls `f(parts, path)` for every socket with a name of SocketName. Returns an error if the
/// directory could not be read completely.
template <class F>
std::error_code ForEachPluginSocket(const std::string& directory, F f) {
  return ForEachSocket(directory, [&f](const std::string& name, const std::string& path) {
    if (const auto parts = PartsOf(name)) f(*parts, path);
  });
}

}  // namespace

std::string NewRun() { return Format("{:08x}", std::random_device()()); }

std::string SocketName(std::string_view resource, std::string_view run, std::uint64_t serial) {
  return Format("{}{:016x}-{}-{}{}", kPrefix, StableHash(resource), run, serial, kSuffix);
}

bool IsSocketName(std::string_view name) { return PartsOf(name).has_value(); }

std::vector<std::string> SweepLeftovers(std::string_view run, const std::string& directory) {
  std::vector<std::string> removed;
  ForEachPluginSocket(directory, [&](const NameParts& parts, const std::string& path) {
    if (parts.run == run || MayBeBound(path) || unlink(path.c_str()) != 0) return;
    removed.emplace_back(BaseName(path));
  });
  return removed;
}

PluginSockets SocketsIn(std::string_view run, const std::string& directory) {
  PluginSockets sockets;
  const std::error_code error =
      ForEachPluginSocket(directory, [&](const NameParts& parts, const std::string& path) {
        if (parts.run == run) {
          sockets.own.emplace(BaseName(path));
          return;
        }
        std::uint64_t hash = 0;
        std::from_chars(parts.hash.data(), parts.hash.data() + parts.hash.size(), hash, 16);
        sockets.others.insert(hash);
      });
  sockets.complete = !error || error == std::errc::no_such_file_or_directory ||
                     error == std::errc::not_a_directory;
  return sockets;
}

std::string OwnSocketDeleted(std::string_view directory) {
  return Format("the plugin socket was deleted; check what deletes sockets in {}", directory);
}

void RemoveSocketsOf(std::string_view run, const std::string& directory) {
  ForEachPluginSocket(directory, [&](const NameParts& parts, const std::string& path) {
    if (parts.run == run) unlink(path.c_str());
  });
}

}  // namespace patchbay
