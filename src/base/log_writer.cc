// The writer and its thread share ownership of the queue, so that the destructor can abandon a
// thread that is blocked in write(2). The thread writes the front line without holding the mutex.
// The line stays in the queue, and counts against the limits, until it is written. This is safe
// because push_back does not move the elements of a deque and only one thread removes lines.
//
// Without a thread, callers of Write write to the descriptor themselves, in parts that do not
// block; `begun_` is the progress in the front line.

#include "base/log_writer.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace patchbay {
namespace {

using Clock = std::chrono::steady_clock;

/// Waits until `fd` accepts a few bytes or the other end is closed, or until `deadline`. Returns
/// false on timeout and error.
bool AwaitWritable(int fd, std::optional<Clock::time_point> deadline) {
  while (true) {
    int wait = -1;
    if (deadline) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now());
      wait = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
    }
    pollfd ready = {fd, POLLOUT, 0};
    const int count = poll(&ready, 1, wait);
    if (count > 0) return true;
    if (count < 0 && errno != EINTR) return false;
    if (count == 0 && deadline && Clock::now() >= *deadline) return false;
  }
}

enum class Written { kSome, kLater, kFailed };

/// Writes at most `max_bytes` bytes from the start of `text`, and removes them from `text`.
Written WriteSome(int fd, std::string_view& text, std::size_t max_bytes) {
  const ssize_t count = write(fd, text.data(), std::min(text.size(), max_bytes));
  if (count >= 0) {
    text.remove_prefix(static_cast<std::size_t>(count));
    return Written::kSome;
  }
  return errno == EINTR || errno == EAGAIN ? Written::kLater : Written::kFailed;
}

/// A pipe that poll(2) reports as writable accepts this many bytes without blocking.
constexpr std::size_t kNeverWaits = PIPE_BUF;

void BlockSignals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace

class LogWriter::Queue {
 public:
  Queue(int fd, Report report, Limits limits)
      : fd_(fd), report_(std::move(report)), limits_(limits) {}

  void Push(std::string line) {
    const std::lock_guard lock(mutex_);
    if (!HasRoomFor(line.size())) {
      ++dropped_;
      ++unreported_;
      return;
    }
    const std::uint64_t reported = std::exchange(unreported_, 0);
    if (reported > 0) line.insert(0, report_(reported));
    bytes_ += line.size();
    lines_.push_back({std::move(line), 1, reported});
    changed_.notify_all();
  }

  /// Body of the thread: writes lines until Stop, and then those left in the queue.
  void Run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return stopping_ || !lines_.empty(); });
      if (lines_.empty()) return;
      std::string_view text = lines_.front().text;
      lock.unlock();
      const bool written = WriteAll(text);
      lock.lock();
      PopFront(written);
      if (lines_.empty()) changed_.notify_all();
    }
  }

  /// Without a thread: writes what `fd` accepts until `deadline`.
  void WriteUntil(Clock::time_point deadline) {
    const std::lock_guard lock(mutex_);
    while (!lines_.empty() && AwaitWritable(fd_, deadline)) {
      std::string_view text = std::string_view(lines_.front().text).substr(begun_);
      const std::size_t before = text.size();
      const Written written = WriteSome(fd_, text, kNeverWaits);
      begun_ += before - text.size();
      if (written == Written::kLater) return;
      if (written == Written::kFailed || text.empty()) PopFront(written == Written::kSome);
    }
  }

  bool AwaitEmpty(Clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, deadline, [this] { return lines_.empty(); });
  }

  void Stop() {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }

  bool empty() {
    const std::lock_guard lock(mutex_);
    return lines_.empty();
  }

  std::uint64_t dropped() {
    const std::lock_guard lock(mutex_);
    return dropped_;
  }

 private:
  struct Entry {
    std::string text;
    std::uint64_t lines = 0;     ///< excluding the report
    std::uint64_t reported = 0;  ///< dropped lines reported at the start of the text
  };

  /// Returns whether a line of `size` bytes fits. After the queue was full, none fits until half of
  /// it is free; otherwise a slow reader would get a report with each line.
  bool HasRoomFor(std::size_t size) {
    const std::size_t share = full_ ? 2 : 1;
    full_ = !lines_.empty() &&
            (lines_.size() >= limits_.lines / share || bytes_ + size > limits_.bytes / share);
    return !full_;
  }

  bool WriteAll(std::string_view text) const {
    while (!text.empty()) {
      const Written written = WriteSome(fd_, text, text.size());
      if (written == Written::kFailed) return false;
      if (written == Written::kLater) AwaitWritable(fd_, std::nullopt);
    }
    return true;
  }

  void PopFront(bool written) {
    const Entry& entry = lines_.front();
    if (!written) {
      dropped_ += entry.lines;
      unreported_ += entry.lines + entry.reported;
    }
    bytes_ -= entry.text.size();
    lines_.pop_front();
    begun_ = 0;
    // Report dropped lines now only if the queue is empty. If the write failed, the report waits
    // for the next line; otherwise it would fail and be repeated without end.
    if (!written || !lines_.empty() || unreported_ == 0) return;
    const std::uint64_t reported = std::exchange(unreported_, 0);
    lines_.push_back({report_(reported), 0, reported});
    bytes_ += lines_.front().text.size();
  }

  const int fd_;
  const Report report_;
  const Limits limits_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Entry> lines_;
  std::size_t bytes_ = 0;
  std::size_t begun_ = 0;  ///< bytes of the front line that WriteUntil has written
  std::uint64_t dropped_ = 0;
  std::uint64_t unreported_ = 0;
  bool full_ = false;
  bool stopping_ = false;
};

LogWriter::LogWriter(int fd, Report report, Limits limits)
    : queue_(std::make_shared<Queue>(fd, std::move(report), limits)) {
  if (!limits.thread) return;
  try {
    std::thread([queue = queue_] {
      BlockSignals();  // the loop handles them; instead of SIGPIPE, write(2) fails
      queue->Run();
    }).detach();
    has_thread_ = true;
  } catch (const std::system_error&) {  // Write then writes without a thread
  }
}

LogWriter::~LogWriter() {
  Drain(kDrainTime);
  queue_->Stop();
}

void LogWriter::Write(std::string line) {
  queue_->Push(std::move(line));
  if (!has_thread_) queue_->WriteUntil(Clock::now());
}

bool LogWriter::Drain(std::chrono::milliseconds longest) {
  const Clock::time_point deadline = Clock::now() + longest;
  if (has_thread_) return queue_->AwaitEmpty(deadline);
  queue_->WriteUntil(deadline);
  return queue_->empty();
}

std::uint64_t LogWriter::dropped() const { return queue_->dropped(); }

bool WriteWithin(int fd, std::string_view text, std::chrono::milliseconds longest) {
  const Clock::time_point deadline = Clock::now() + longest;
  while (!text.empty()) {
    if (!AwaitWritable(fd, deadline)) return false;
    const Written written = WriteSome(fd, text, kNeverWaits);
    if (written == Written::kFailed) return false;
    if (written == Written::kLater && Clock::now() >= deadline) return false;
  }
  return true;
}

}  // namespace patchbay
