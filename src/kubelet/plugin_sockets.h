#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/unique_fd.h"

namespace patchbay {

/// Returns eight random hexadecimal digits that identify this run of the process. The process ID is
/// not unique: it is the same in every pod.
std::string NewRun();

/// Returns a unique socket name for one server: "patchbay-<hash>-<run>-<serial>.sock", where the
/// hash is 16 hexadecimal digits of the resource name and `serial` is the number of the server.
std::string SocketName(std::string_view resource, std::string_view run, std::uint64_t serial);

/// The maximum length of a name in bytes, with a serial of twelve digits.
inline constexpr std::size_t kMaxSocketName = 56;

/// Returns whether the name has the format of SocketName, of this or another run.
bool IsSocketName(std::string_view name);

/// Removes the sockets in `directory` that killed runs of Patchbay have left: those with the name
/// of a run other than `run` that no process has bound. Sockets of other programs and of a running
/// Patchbay remain. Returns the removed names.
std::vector<std::string> SweepLeftovers(std::string_view run, const std::string& directory);

/// Returns the identity of the socket file at `path`, or nothing if it does not exist. Some file
/// systems reuse inode numbers immediately, so the identity includes the birth time, or the change
/// time on file systems without it.
std::optional<std::string> SocketIdentity(const std::string& path);

/// Returns true if a process has a stream socket bound to the file at `path`. Its owner does not
/// notice, unlike with Connect.
bool IsBound(const std::string& path);

/// Connects to the socket at `path`, without blocking. Operations on the connection do not block
/// either. Fails if no process listens, or if its backlog is full.
Result<UniqueFd> Connect(const std::string& path);

/// The sockets of Patchbay in a directory, from the view of one run, whether or not a process
/// listens.
struct PluginSockets {
  std::set<std::string> own;       ///< the names of the sockets of this run
  std::set<std::uint64_t> others;  ///< StableHash of the resources of other runs
  bool complete = true;            ///< false: the directory could not be read completely
};
/// Returns the sockets in `directory`; none if it does not exist.
PluginSockets SocketsIn(std::string_view run, const std::string& directory);

/// Shuts down all connections that this process has accepted on the socket at `path`. Pending
/// writes are lost.
void BreakConnections(const std::string& path);

/// Returns the message for a socket of this run that was deleted in `directory`.
std::string OwnSocketDeleted(std::string_view directory);

/// Removes all sockets of one run. Called when that run ends.
void RemoveSocketsOf(std::string_view run, const std::string& directory);

}  // namespace patchbay
