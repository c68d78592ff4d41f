#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace patchbay {

/// Writes lines to a file descriptor on a separate thread, so that a slow reader never blocks a
/// caller. Lines wait in a bounded queue. When it is full, lines are dropped and counted until half
/// of it is free; a line in their place then reports how many are missing. If no thread can be
/// started, each call of Write writes what the descriptor accepts at that moment.
///
/// Thread-safe. The destructor waits at most kDrainTime for the queue to drain, and abandons the
/// thread if it is blocked in a write. The descriptor must stay open until the process exits.
class LogWriter {
 public:
  /// Capacity of the queue.
  struct Limits {
    std::size_t bytes = 256 * 1024;
    std::size_t lines = 2000;
    bool thread = true;  ///< false: behave as if none can be started; for tests
  };
  static constexpr std::chrono::milliseconds kDrainTime{200};

  /// Returns the line, including its line end, that reports `count` dropped lines. Called on any
  /// thread, also after the destructor; must not call the writer.
  using Report = std::function<std::string(std::uint64_t count)>;

  LogWriter(int fd, Report report) : LogWriter(fd, std::move(report), Limits()) {}
  LogWriter(int fd, Report report, Limits limits);
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  /// Queues a line, which includes its line end, or drops it.
  void Write(std::string line);

  /// Waits at most `longest` until the queue is empty. Returns whether it is empty.
  bool Drain(std::chrono::milliseconds longest);

  /// Returns the number of lines dropped so far because the queue was full or a write failed.
  std::uint64_t dropped() const;

 private:
  class Queue;
  std::shared_ptr<Queue> queue_;
  bool has_thread_ = false;
};

/// Writes `text` to `fd`, and waits at most `longest` until the descriptor accepts it. Returns
/// whether everything was written. For the last message of a process, which must not hang. It can
/// still block if another writer fills the same pipe at the same moment.
bool WriteWithin(int fd, std::string_view text, std::chrono::milliseconds longest);

}  // namespace patchbay
