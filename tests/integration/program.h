#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "base/format.h"
#include "os/unique_fd.h"
#include "support/daemon_fixture.h"
#include "support/sanitizer.h"

namespace patchbay::test {

/// Puts the calling process into a user namespace, which has limits of its own, and sets one of
/// them, such as "max_inotify_watches". Call it in a child before it executes a program.
inline bool EnterLimited(const char* limit, const char* value) {
  const std::string file = std::string("/proc/sys/user/") + limit;
  const auto write_file = [](const char* path, const char* text) {
    const UniqueFd fd(open(path, O_WRONLY | O_CLOEXEC));
    return fd && write(fd.get(), text, strlen(text)) > 0;
  };
  return unshare(CLONE_NEWUSER) == 0 && write_file("/proc/self/uid_map", "0 0 1") &&
         write_file(file.c_str(), value);
}

inline void DisableLeakDetection() {
  const char* options = getenv("ASAN_OPTIONS");
  setenv("ASAN_OPTIONS", Format("{}:detect_leaks=0", options == nullptr ? "" : options).c_str(), 1);
}

/// `patchbay run` as a separate process. Its log is "log" in the tree.
class Process {
 public:
  /// `enter` runs in the child first; the exit code is 99 if it fails. `flag` is a further one of
  /// the command line.
  Process(
      TempTree& tree, const std::string& kubelet_dir, std::string_view resources,
      const std::function<bool()>& enter = [] { return true; }, const char* flag = nullptr) {
    tree.File(
        "config/test.toml",
        Format("[daemon]\nlisten = \"127.0.0.1:0\"\nkubelet_dir = \"{}\"\nhost_root = \"{}\"\n"
               "rescan = \"1s\"\n{}\n",
               kubelet_dir, tree.path(), resources));
    log_ = tree.path("log");
    const std::string config = tree.path("config");
    const char* const argv[] = {PATCHBAY_BINARY, "run", "--config", config.c_str(), flag, nullptr};
    pid_ = fork();
    if (pid_ != 0) return;
    const int log = open(log_.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
    dup2(log, STDERR_FILENO);
    // At its end it stops all threads; threads that hang in the kernel never stop.
    if (kHasAddressSanitizer) DisableLeakDetection();
    if (!enter()) _exit(kCannotEnter);
    execv(argv[0], const_cast<char**>(argv));
    _exit(98);
  }
  ~Process() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  static constexpr int kCannotEnter = 99;

  void Signal(int number) const { kill(pid_, number); }
  /// Waits for its end. Returns the exit code, the negative number of the signal, or -1000 on
  /// timeout.
  int Wait(std::chrono::milliseconds timeout = kPatience) {
    const UniqueFd ended(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
    pollfd wait{.fd = ended.get(), .events = POLLIN, .revents = 0};
    if (poll(&wait, 1, static_cast<int>(timeout.count())) != 1) return -1000;
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  std::string log() const {
    std::ifstream in(log_);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// Waits until the log contains `part`. Returns whether it does.
  bool AwaitLog(std::string_view part) const {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (log().find(part) == std::string::npos) {
      if (std::chrono::steady_clock::now() >= deadline) return false;
    }
    return true;
  }

 private:
  pid_t pid_ = -1;
  std::string log_;
};

}  // namespace patchbay::test
