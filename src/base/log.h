#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "base/log_quota.h"

namespace spdlog {
class logger;
}

namespace patchbay {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
/// In the order of LogLevel.
inline constexpr std::string_view kLogLevelNames[] = {"debug", "info", "warning", "error"};
enum class LogFormat { kText, kJson };

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

/// Writes one line for one fact. Text: `time level message key=value …`, values quoted where they
/// need it. JSON: one object a line with `time`, `level`, `message` and the fields. Any byte may
/// come in a value; none can break a line. A field whose value is empty is not written. What comes
/// too often is left out, and counted, see LogQuota: its subject is the message with the fields
/// `resource`, `device` and `at`. So what else differs from line to line belongs in other fields.
/// What is left out and not told of is told at the end.
///
/// Thread-safe. Handed down by reference; there is no global logger.
class Log {
 public:
  using Fields = std::initializer_list<LogField>;
  using Clock = std::function<LogQuota::Time()>;

  /// Logs to stderr, coloured only on a terminal and never where NO_COLOR is set.
  Log(LogLevel level, LogFormat format);
  /// Logs to a stream that must outlive the log; for tests.
  Log(LogLevel level, LogFormat format, std::ostream& out,
      Clock clock = std::chrono::steady_clock::now);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  /// What is less severe is not logged from now on.
  void SetLevel(LogLevel level);

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
  LogQuota::Outcome Ask(LogLevel level, std::string_view message, Fields fields);

  LogFormat format_;
  const Clock clock_ = std::chrono::steady_clock::now;
  std::mutex quota_mutex_;
  LogQuota quota_;
  std::unique_ptr<spdlog::logger> logger_;
};

}  // namespace patchbay
