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
/// Indexed by LogLevel.
inline constexpr std::string_view kLogLevelNames[] = {"debug", "info", "warning", "error"};
enum class LogFormat { kText, kJson };

/// The appearance of log lines.
struct LogStyle {
  LogFormat format = LogFormat::kText;
  bool colored = false;
};

/// Returns the style for stderr. Lines are colored as WantsColor of base/color.h decides.
LogStyle StderrStyle(LogFormat format);

/// A key=value pair of a log line. docs/logs.md lists the keys; a key has the same meaning in every
/// message.
struct LogField {
  LogField(std::string_view k, std::string_view v) : key(k), value(v) {}
  LogField(std::string_view k, const char* v) : key(k), value(v) {}
  template <std::integral T>
  LogField(std::string_view k, T v) : key(k), value(std::to_string(v)), is_number(true) {}

  std::string_view key;
  std::string value;
  bool is_number = false;
};

/// Formats one line as Log writes it, with the current time and a line end.
std::string FormatLogLine(const LogStyle& style, LogLevel level, std::string_view message,
                          std::span<const LogField> fields);

/// Writes log lines, one per event. Text format: `time level message key=value …`, with values
/// quoted where necessary. JSON format: one object per line with `time`, `level`, `message` and the
/// fields. A value can contain any byte; escaping ensures that it cannot break a line. Fields with
/// an empty value are omitted.
///
/// Lines above the rate limit are dropped and counted, see LogRateLimiter. The subject of the rate
/// limit is the message with the fields `resource`, `device` and `at`, so put other varying values
/// in other fields. The destructor logs the counts that were not logged before.
///
/// A slow reader of the log never blocks a caller: the calling thread formats a line, in the order
/// of the calls, and a LogWriter writes it. If the LogWriter has no room, lines are dropped,
/// counted and reported.
///
/// Thread-safe. Passed by reference; there is no global logger. The destructor waits at most
/// LogWriter::kDrainTime for the last lines.
class Log {
 public:
  using Fields = std::initializer_list<LogField>;
  using Clock = std::function<LogRateLimiter::Time()>;

  /// Logs to stderr in the style that StderrStyle returns.
  Log(LogLevel level, LogFormat format);
  /// Logs to a stream, which must outlive the log. Each call writes its line before it returns. For
  /// tests.
  Log(LogLevel level, LogFormat format, std::ostream& out,
      Clock clock = std::chrono::steady_clock::now);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  /// Sets the minimum level. Lines below it are not logged.
  void SetLevel(LogLevel level) { level_ = level; }

  /// Waits at most `longest` until all lines logged so far are written. Call it before other text
  /// is written to stderr, and before the process exits without destroying the log.
  void Flush(std::chrono::milliseconds longest);

  /// Returns the number of lines dropped so far because stderr did not accept them.
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
  std::mutex order_mutex_;  ///< keeps lines in the order of their timestamps
  const std::unique_ptr<LogWriter> writer_;
  std::ostream* const out_ = nullptr;  ///< used instead of the writer if not null
};

}  // namespace patchbay
