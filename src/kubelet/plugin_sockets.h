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

/// Eight hexadecimal digits that differ from run to run of the process. Not the process ID, which
/// in containers is the same in every pod.
std::string NewRun();

/// A name for the socket of one registration: of the resource, of this run of the process, and of
/// the how-manieth server it is: "patchbay-<16 hex>-<run>-<serial>.sock". No two servers ever have
/// the same.
std::string SocketName(std::string_view resource, std::string_view run, std::uint64_t serial);

/// The longest name in bytes, with a serial of twelve digits, which no process lives to reach.
inline constexpr std::size_t kMaxSocketName = 56;

/// Whether SocketName could have made the name, in this or another run.
bool IsSocketName(std::string_view name);

/// Removes the sockets that runs of Patchbay other than `run` left in `directory` when they were
/// killed: those with a name of our kind that no process has bound any more. Sockets of others, and
/// of another Patchbay that runs, are not touched, whether they listen yet or not. Returns the
/// names removed.
std::vector<std::string> SweepLeftovers(std::string_view run, const std::string& directory);

/// What makes a socket file this one and no other; nothing when there is none. Inode numbers are
/// used again at once by some file systems, so the time of birth (or of the last change of the
/// inode, where births are not kept) belongs to it.
std::optional<std::string> SocketIdentity(const std::string& path);

/// Returns true if a process has a stream socket bound to the file at `path`. Its owner does not
/// notice, unlike with Connect.
bool IsBound(const std::string& path);

/// A connection to whoever listens on the socket at `path`. Nothing blocks, neither this nor what
/// is done with it. Fails when nobody listens, or when as many wait already as may.
Result<UniqueFd> Connect(const std::string& path);

/// The sockets of Patchbay in a directory, as one run sees them. Whether somebody listens there is
/// not asked.
struct PluginSockets {
  std::set<std::string> own;       ///< the names of those of this run
  std::set<std::uint64_t> others;  ///< the resources of other runs, as StableHash of their names
  bool complete = true;            ///< false: the directory could not be read to its end
};
/// A directory that does not exist has none.
PluginSockets SocketsIn(std::string_view run, const std::string& directory);

/// Breaks all connections that this process has accepted on the socket at `path`, whatever is still
/// to be written to them.
void BreakConnections(const std::string& path);

/// Returns the message for a socket of this run that was deleted in `directory`.
std::string OwnSocketDeleted(std::string_view directory);

/// Removes the sockets of one run, whether or not somebody listens: the last act of that run.
void RemoveSocketsOf(std::string_view run, const std::string& directory);

}  // namespace patchbay
