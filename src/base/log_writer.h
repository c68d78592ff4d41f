#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace patchbay {

/// Writes lines to a descriptor on a thread of its own, so that no caller ever waits for whoever
/// reads them. Lines wait in a bounded queue. When it is full, lines are dropped and counted until
/// half of it is free; a line in their place then reports how many are missing. Where no thread can
/// be started, each call of Write writes what the descriptor accepts at that moment.
///
/// Thread-safe. The destructor waits at most kDrainTime for the queue and leaves the thread behind
/// if it hangs in a write. The descriptor must stay open until the process exits.
class LogWriter {
 public:
  struct Limits {
    std::size_t bytes = 256 * 1024;
    std::size_t lines = 2000;
    bool thread = true;  ///< false: as if none could be started; for tests
  };
  static constexpr std::chrono::milliseconds kDrainTime{200};

  /// Returns the line, with its line end, that reports `count` dropped lines. Called on any thread,
  /// also after the destructor, and must not call the writer.
  using Report = std::function<std::string(std::uint64_t count)>;

  LogWriter(int fd, Report report) : LogWriter(fd, std::move(report), Limits()) {}
  LogWriter(int fd, Report report, Limits limits);
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  /// Queues a line that ends with its line end, or drops it.
  void Write(std::string line);

  /// Waits until the queue is empty, at most for `longest`. Returns whether it is.
  bool Drain(std::chrono::milliseconds longest);

  /// Lines dropped so far, because the queue was full or the descriptor refused them.
  std::uint64_t dropped() const;

 private:
  class Queue;
  std::shared_ptr<Queue> queue_;
  bool has_thread_ = false;
};

/// Writes `text` to `fd`, waiting at most `longest` until the descriptor accepts it. Returns
/// whether everything was written. For the last words of a process and for PID 1, which must not
/// hang. Another writer to the same pipe at the same moment may still make it wait.
bool WriteWithin(int fd, std::string_view text, std::chrono::milliseconds longest);

}  // namespace patchbay
