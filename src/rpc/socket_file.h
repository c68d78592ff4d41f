#pragma once

#include <functional>
#include <optional>
#include <string>
#include <system_error>

#include "base/result.h"
#include "os/unique_fd.h"

namespace patchbay {

/// Functions on the files of Unix sockets and their directories. They look up paths, which can
/// hang.

/// Returns the identity of the socket file at `path`, or nothing if it does not exist. Some file
/// systems reuse inode numbers immediately, so the identity includes the birth time, or the change
/// time on file systems without it.
std::optional<std::string> SocketIdentity(const std::string& path);

/// Returns true if a process has a stream socket bound to the file at `path`. Its owner does not
/// notice, unlike with Connect.
bool IsBound(const std::string& path);

/// Returns false only if the socket file at `path` is stale: no process has a socket bound to it,
/// so it can be removed.
bool MayBeBound(const std::string& path);

/// Connects to the socket at `path`, without blocking. Operations on the connection do not block
/// either. Fails if no process listens, or if its backlog is full.
Result<UniqueFd> Connect(const std::string& path);

/// Creates a socket at `path`, where no file must exist, and accepts connections there. Accepting
/// does not block.
Result<UniqueFd> Listen(const std::string& path);

/// Calls `f` for every socket in `directory`, without links to sockets. Returns an error if the
/// directory could not be read completely.
std::error_code ForEachSocket(
    const std::string& directory,
    const std::function<void(const std::string& name, const std::string& path)>& f);

/// Returns whether a directory was removed under a mount: this process cannot see its successor and
/// must be restarted.
bool IsRemovedMount(const std::string& directory);
/// Returns the message for such a directory, after which the process exits.
std::string RemovedMountReason(const std::string& directory);

}  // namespace patchbay
