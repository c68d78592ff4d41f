#pragma once

#include <unistd.h>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>

namespace spdlog {
class logger;
}  // namespace spdlog

namespace patchbay {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
/// Indexed by LogLevel.
inline constexpr std::string_view kLogLevelNames[] = {"debug", "info", "warning", "error"};
enum class LogFormat { kText, kJson };

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

/// Writes log lines, one per event. Text format: `time level message key=value …`, with values
/// quoted where necessary. JSON format: one object per line with `time`, `level`, `message` and the
/// fields. A value can contain any byte; escaping ensures that it cannot break a line. Fields with
/// an empty value are omitted.
///
/// A slow reader of the log never blocks a caller: a thread writes the lines, from a queue of
/// kQueueLines. When it is full, the oldest line is dropped, counted and reported. A line that is
/// the same as the one before, within kRepeatTime, is only counted.
///
/// Thread-safe. Passed by reference; there is no global logger.
class Log {
 public:
  using Fields = std::initializer_list<LogField>;

  static constexpr std::size_t kQueueLines = 1000;
  static constexpr std::chrono::seconds kRepeatTime{60};
  static constexpr std::chrono::milliseconds kDrainTime{200};

  /// Logs to a file descriptor, which must stay open until the process exits: the thread is never
  /// joined. Lines are colored as WantsColor of base/color.h decides. Throws std::system_error if
  /// there is no thread.
  Log(LogLevel level, LogFormat format, int descriptor = STDERR_FILENO);
  /// Logs to a stream, which must outlive the log. Each call writes its line before it returns. For
  /// tests.
  Log(LogLevel level, LogFormat format, std::ostream& out);
  /// Waits at most kDrainTime for the last lines.
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  /// Sets the minimum level. Lines below it are not logged.
  void SetLevel(LogLevel level);

  /// Waits at most `longest` until all lines logged so far are written. Call it before other text
  /// is written to stderr, and before the process exits without destroying the log.
  void Flush(std::chrono::milliseconds longest);

  /// Returns the number of lines dropped so far because they were not read.
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
  class Writer;

  void Write(LogLevel level, std::string_view message, Fields fields);

  const LogFormat format_;
  std::shared_ptr<Writer> writer_;  ///< null for a stream
  std::shared_ptr<spdlog::logger> logger_;
};

}  // namespace patchbay
