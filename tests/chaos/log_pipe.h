#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "os/unique_fd.h"

namespace patchbay::test {

/// The pipe that a daemon writes its log to, and its reader, which copies it to a file and can stop
/// reading for a while. Thread-safe.
class LogPipe {
 public:
  explicit LogPipe(const std::string& file) : file_(file, std::ios::binary) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0 || !wake_) throw std::runtime_error("cannot create a pipe");
    read_end_ = UniqueFd(ends[0]);
    write_end_ = UniqueFd(ends[1]);
    // The daemon's end must stay blocking, so the flag cannot be set on the end that it shares.
    filler_ = UniqueFd(open(("/proc/self/fd/" + std::to_string(ends[1])).c_str(),
                            O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    fcntl(read_end_.get(), F_SETFL, O_NONBLOCK);
    fcntl(read_end_.get(), F_SETPIPE_SZ, 4096);
    thread_ = std::thread([this] { Run(); });
  }
  ~LogPipe() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
      changed_.notify_all();
    }
    eventfd_write(wake_.get(), 1);
    thread_.join();
  }
  LogPipe(const LogPipe&) = delete;
  LogPipe& operator=(const LogPipe&) = delete;

  /// For the daemon; blocking.
  int write_end() const { return write_end_.get(); }

  /// Stops reading and fills the pipe, so that the next write blocks.
  void Stall() {
    const std::lock_guard lock(mutex_);
    stalled_ = true;
    while (write(filler_.get(), &kFiller, 1) == 1) {
    }
  }
  void Resume() {
    const std::lock_guard lock(mutex_);
    stalled_ = false;
    changed_.notify_all();
  }
  bool stalled() const {
    const std::lock_guard lock(mutex_);
    return stalled_;
  }

 private:
  static constexpr char kFiller = '\0';  ///< does not occur in logs

  void Run() {
    std::string buffer(4096, '\0');
    while (true) {
      pollfd fds[] = {{read_end_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
      poll(fds, 2, -1);
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return ending_ || !stalled_; });
      const ssize_t size = read(read_end_.get(), buffer.data(), buffer.size());
      for (const char c : std::string_view(buffer).substr(0, std::max<ssize_t>(size, 0))) {
        if (c != kFiller) file_.put(c);
      }
      file_.flush();
      if (ending_ && size <= 0) return;
    }
  }

  std::ofstream file_;
  UniqueFd read_end_, write_end_, filler_;
  UniqueFd wake_{eventfd(0, EFD_CLOEXEC)};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stalled_ = false;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace patchbay::test
