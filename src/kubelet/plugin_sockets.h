#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

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

/// The sockets of Patchbay in a directory, from the view of one run, whether or not a process
/// listens.
struct PluginSockets {
  std::set<std::string> own;       ///< the names of the sockets of this run
  std::set<std::uint64_t> others;  ///< StableHash of the resources of other runs
  bool complete = true;            ///< false: the directory could not be read completely
};
/// Returns the sockets in `directory`; none if it does not exist.
PluginSockets SocketsIn(std::string_view run, const std::string& directory);

/// Returns the message for a socket of this run that was deleted in `directory`.
std::string OwnSocketDeleted(std::string_view directory);

/// Removes all sockets of one run. Called when that run ends.
void RemoveSocketsOf(std::string_view run, const std::string& directory);

}  // namespace patchbay
