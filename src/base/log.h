#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "base/log_rate_limiter.h"

namespace patchbay {

class LogWriter;

enum class LogLevel { kDebug, kInfo, kWarning, kError };
/// In the order of LogLevel.
inline constexpr std::string_view kLogLevelNames[] = {"debug", "info", "warning", "error"};
enum class LogFormat { kText, kJson };

/// How lines look.
struct LogStyle {
  LogFormat format = LogFormat::kText;
  bool colored = false;
};

/// The style of lines on stderr: colored only on a terminal and never where NO_COLOR is set.
LogStyle StderrStyle(LogFormat format);

/// One key=value pair of a log line; docs/logs.md has the keys, which are the same everywhere.
struct LogField {
  LogField(std::string_view k, std::string_view v) : key(k), value(v) {}
  LogField(std::string_view k, const char* v) : key(k), value(v) {}
  template <std::integral T>
  LogField(std::string_view k, T v) : key(k), value(std::to_string(v)), is_number(true) {}

  std::string_view key;
  std::string value;
  bool is_number = false;
};

/// One line as Log writes it, with the current time and a line end. For what cannot have a Log,
/// such as PID 1.
std::string FormatLogLine(const LogStyle& style, LogLevel level, std::string_view message,
                          std::span<const LogField> fields);

/// Writes one line for one fact. Text: `time level message key=value …`, values quoted where they
/// need it. JSON: one object a line with `time`, `level`, `message` and the fields. Any byte may
/// come in a value; none can break a line. A field whose value is empty is not written. Lines
/// above the rate limit are dropped and counted, see LogRateLimiter: the subject is the message
/// with the fields `resource`, `device` and `at`, so other values that vary belong in other fields.
/// Counts that were not logged yet are logged at the end.
///
/// No caller waits for whoever reads the log: lines are formatted at once, in the order of the
/// calls, and a LogWriter writes them. If it has no room they are dropped, counted and reported.
///
/// Thread-safe. Handed down by reference; there is no global logger. The destructor waits for the
/// last lines, but only for LogWriter::kDrainTime.
class Log {
 public:
  using Fields = std::initializer_list<LogField>;
  using Clock = std::function<LogRateLimiter::Time()>;

  /// Logs to stderr, see StderrStyle.
  Log(LogLevel level, LogFormat format);
  /// Logs to a stream that must outlive the log, before the call returns; for tests.
  Log(LogLevel level, LogFormat format, std::ostream& out,
      Clock clock = std::chrono::steady_clock::now);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  /// What is less severe is not logged from now on.
  void SetLevel(LogLevel level) { level_ = level; }

  /// Waits until everything logged so far is written, at most for `longest`. Before other text goes
  /// to stderr, and before the process exits without destroying the log.
  void Flush(std::chrono::milliseconds longest);

  /// Lines dropped so far because nobody read the log.
  std::uint64_t dropped() const;

  void Debug(std::string_view message, Fields fields = {}) {
    Write(LogLevel::kDebug, message, fields);
  }
  void Info(std::string_view message, Fields fields = {}) {
    Write(LogLevel::kInfo, message, fields);
  }
  void Warning(std::string_view message, Fields fields = {}) {
    Write(LogLevel::kWarning, message, fields);
  }
  void Error(std::string_view message, Fields fields = {}) {
    Write(LogLevel::kError, message, fields);
  }

 private:
  void Write(LogLevel level, std::string_view message, Fields fields);
  void Put(LogLevel level, std::string_view message, std::span<const LogField> fields);
  LogRateLimiter::Outcome Ask(LogLevel level, std::string_view message, Fields fields);

  const LogStyle style_;
  const Clock clock_ = std::chrono::steady_clock::now;
  std::atomic<LogLevel> level_;
  std::mutex quota_mutex_;
  LogRateLimiter quota_;
  std::mutex order_mutex_;  ///< lines are written in the order of their times
  const std::unique_ptr<LogWriter> writer_;
  std::ostream* const out_ = nullptr;  ///< instead of the writer
};

}  // namespace patchbay
