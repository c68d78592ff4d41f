#include "base/log.h"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <cstdlib>

#include "base/escape.h"

namespace patchbay {
namespace {

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return spdlog::level::debug;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kWarning: return spdlog::level::warn;
    case LogLevel::kError: return spdlog::level::err;
  }
  return spdlog::level::info;
}

bool NeedsQuotes(std::string_view value) {
  if (value.empty()) return true;
  for (const unsigned char c : value) {
    if (c <= ' ' || c == '"' || c == '=' || c == '\\' || c >= 0x7f) return true;
  }
  return false;
}

std::string TextLine(std::string_view message, Log::Fields fields) {
  std::string line = Printable(message);
  for (const LogField& field : fields) {
    line.append(" ").append(field.key).append("=");
    line += NeedsQuotes(field.value) ? QuoteJson(field.value) : field.value;
  }
  return line;
}

std::string JsonMembers(std::string_view message, Log::Fields fields) {
  std::string line = "\"message\":" + QuoteJson(message);
  for (const LogField& field : fields) {
    line.append(",").append(QuoteJson(field.key)).append(":").append(QuoteJson(field.value));
  }
  return line;
}

std::unique_ptr<spdlog::logger> MakeLogger(spdlog::sink_ptr sink, LogLevel level,
                                           LogFormat format) {
  auto logger = std::make_unique<spdlog::logger>("patchbay", std::move(sink));
  logger->set_level(ToSpdlog(level));
  logger->flush_on(spdlog::level::debug);
  const char* pattern = format == LogFormat::kText
                            ? "%Y-%m-%dT%H:%M:%S.%eZ %^%l%$ %v"
                            : R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})";
  logger->set_formatter(
      std::make_unique<spdlog::pattern_formatter>(pattern, spdlog::pattern_time_type::utc));
  return logger;
}

spdlog::sink_ptr StderrSink() {
  const bool plain = std::getenv("NO_COLOR") != nullptr;
  return std::make_shared<spdlog::sinks::stderr_color_sink_mt>(
      plain ? spdlog::color_mode::never : spdlog::color_mode::automatic);
}

}  // namespace

Log::Log(LogLevel level, LogFormat format)
    : format_(format), logger_(MakeLogger(StderrSink(), level, format)) {}

Log::Log(LogLevel level, LogFormat format, std::ostream& out)
    : format_(format),
      logger_(MakeLogger(std::make_shared<spdlog::sinks::ostream_sink_mt>(out), level, format)) {}

Log::~Log() = default;

void Log::SetLevel(LogLevel level) { logger_->set_level(ToSpdlog(level)); }

void Log::Write(LogLevel level, std::string_view message, Fields fields) {
  const auto spdlog_level = ToSpdlog(level);
  if (!logger_->should_log(spdlog_level)) return;
  const std::string line =
      format_ == LogFormat::kText ? TextLine(message, fields) : JsonMembers(message, fields);
  logger_->log(spdlog_level, spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace patchbay
