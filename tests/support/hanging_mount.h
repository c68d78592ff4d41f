#pragma once

#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>

#include "base/format.h"
#include "os/unique_fd.h"

namespace patchbay::test {

/// A file system whose server does not respond, mounted on an existing directory: every lookup
/// below it hangs until this object is destroyed, as below an NFS mount without its server. Destroy
/// it before objects that wait for a thread that may hang there; the lookups then fail.
class HangingMount {
 public:
  explicit HangingMount(std::string directory) : directory_(std::move(directory)) {
    UniqueFd server(open("/dev/fuse", O_RDWR | O_CLOEXEC));
    if (!server) {
      why_not_ = Format("cannot open /dev/fuse: {}", strerror(errno));
      return;
    }
    const std::string options = Format("fd={},rootmode=40000,user_id=0,group_id=0", server.get());
    if (mount("hanging", directory_.c_str(), "fuse", 0, options.c_str()) != 0) {
      why_not_ = Format("cannot mount: {}", strerror(errno));
      return;
    }
    server_ = std::move(server);
    if (!Greet()) why_not_ = "the kernel did not begin the protocol";
  }
  ~HangingMount() { End(); }
  HangingMount(const HangingMount&) = delete;
  HangingMount& operator=(const HangingMount&) = delete;

  /// Unmounts; lookups that hang fail.
  void End() {
    if (!server_) return;
    umount2(directory_.c_str(), MNT_FORCE | MNT_DETACH);
    server_ = UniqueFd();
  }

  /// Waits until a lookup hangs below it; returns false if none does.
  bool AwaitHang(std::chrono::milliseconds timeout) const {
    // The request is pending but not read: a process whose request was read could not even be
    // killed.
    pollfd request = {server_.get(), POLLIN, 0};
    return poll(&request, 1, static_cast<int>(timeout.count())) == 1;
  }

  /// The reason why it is not mounted; empty if it is. Mounting needs root and /dev/fuse.
  const std::string& why_not() const { return why_not_; }

 private:
  /// Responds to the first request, on which all others wait.
  bool Greet() const {
    struct {
      fuse_in_header header;
      char body[FUSE_MIN_READ_BUFFER];
    } request{};
    if (read(server_.get(), &request, sizeof request) < 0) return false;
    struct {
      fuse_out_header header;
      fuse_init_out body;
    } answer{};
    answer.header = {sizeof answer, 0, request.header.unique};
    answer.body.major = FUSE_KERNEL_VERSION;
    answer.body.minor = FUSE_KERNEL_MINOR_VERSION;
    answer.body.max_write = 4096;
    return write(server_.get(), &answer, sizeof answer) == sizeof answer;
  }

  const std::string directory_;
  std::string why_not_;
  UniqueFd server_;
};

}  // namespace patchbay::test
