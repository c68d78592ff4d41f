#include "base/log.h"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <vector>

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

constexpr std::string_view kTooMuch = "lines were left out, since there were too many";

/// Whether lines that differ in it are of different things.
bool IsOfSubject(const LogField& field) {
  return field.key == "resource" || field.key == "device" || field.key == "at";
}

bool NeedsQuotes(std::string_view value) {
  for (const unsigned char c : value) {
    if (c <= ' ' || c == '"' || c == '=' || c == '\\' || c >= 0x7f) return true;
  }
  return false;
}

std::string TextLine(std::string_view message, std::span<const LogField> fields) {
  std::string line = Printable(message);
  for (const LogField& field : fields) {
    if (field.value.empty()) continue;
    line.append(" ").append(field.key).append("=");
    line += NeedsQuotes(field.value) ? QuoteJson(field.value) : field.value;
  }
  return line;
}

std::string JsonMembers(std::string_view message, std::span<const LogField> fields) {
  std::string line = "\"message\":" + QuoteJson(message);
  for (const LogField& field : fields) {
    if (field.value.empty()) continue;
    line.append(",").append(QuoteJson(field.key)).append(":");
    line += field.is_number ? field.value : QuoteJson(field.value);
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

Log::Log(LogLevel level, LogFormat format, std::ostream& out, Clock clock)
    : format_(format),
      clock_(std::move(clock)),
      logger_(MakeLogger(std::make_shared<spdlog::sinks::ostream_sink_mt>(out), level, format)) {}

Log::~Log() {
  if (const std::size_t count = quota_.Untold(); count > 0) {
    const LogField fields[] = {{"count", count}};
    Put(LogLevel::kWarning, kTooMuch, fields);
  }
}

void Log::SetLevel(LogLevel level) { logger_->set_level(ToSpdlog(level)); }

void Log::Write(LogLevel level, std::string_view message, Fields fields) {
  if (!logger_->should_log(ToSpdlog(level))) return;
  const LogQuota::Outcome outcome = Ask(level, message, fields);
  if (!outcome.write) return;
  if (outcome.left_out_of_all > 0) {
    const LogField count[] = {{"count", outcome.left_out_of_all}};
    Put(level, kTooMuch, count);
  }
  if (outcome.left_out_alike > 0) {
    std::vector<LogField> about = {{"like", message}};
    std::copy_if(fields.begin(), fields.end(), std::back_inserter(about), IsOfSubject);
    about.emplace_back("count", outcome.left_out_alike);
    Put(level, "lines like this were left out", about);
  }
  Put(level, message, {fields.begin(), fields.size()});
}

LogQuota::Outcome Log::Ask(LogLevel level, std::string_view message, Fields fields) {
  std::string subject(message);
  for (const LogField& field : fields) {
    if (IsOfSubject(field)) subject.append("\n").append(field.value);
  }
  const std::lock_guard lock(quota_mutex_);
  return level == LogLevel::kDebug ? quota_.AskForDetail(clock_()) : quota_.Ask(subject, clock_());
}

void Log::Put(LogLevel level, std::string_view message, std::span<const LogField> fields) {
  const std::string line =
      format_ == LogFormat::kText ? TextLine(message, fields) : JsonMembers(message, fields);
  logger_->log(ToSpdlog(level), spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace patchbay
