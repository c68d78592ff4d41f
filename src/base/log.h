#pragma once

#include <concepts>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>

namespace spdlog {
class logger;
}

namespace patchbay {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
/// In the order of LogLevel.
inline constexpr std::string_view kLogLevelNames[] = {"debug", "info", "warning", "error"};
enum class LogFormat { kText, kJson };

/// One key=value pair of a log line. Keys are the same everywhere: resource, device, reason, path.
struct LogField {
  LogField(std::string_view k, std::string_view v) : key(k), value(v) {}
  LogField(std::string_view k, const char* v) : key(k), value(v) {}
  template <std::integral T>
  LogField(std::string_view k, T v) : key(k), value(std::to_string(v)) {}

  std::string_view key;
  std::string value;
};

/// Writes one line for one fact. Text: `time level message key=value …`, values quoted where they
/// need it. JSON: one object a line with `time`, `level`, `message` and the fields. Any byte may
/// come in a value; none can break a line.
///
/// Thread-safe. Handed down by reference; there is no global logger.
class Log {
 public:
  using Fields = std::initializer_list<LogField>;

  /// Logs to stderr, coloured only on a terminal and never where NO_COLOR is set.
  Log(LogLevel level, LogFormat format);
  /// Logs to a stream that must outlive the log; for tests.
  Log(LogLevel level, LogFormat format, std::ostream& out);
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

  LogFormat format_;
  std::unique_ptr<spdlog::logger> logger_;
};

}  // namespace patchbay
