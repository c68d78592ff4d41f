// A line passes three stages: the rate limiter admits it, the pattern formatter of spdlog formats
// it on the calling thread, and the LogWriter, or in tests the stream, writes it. spdlog is used
// only for formatting. Reports about suppressed lines bypass the rate limiter.
//
// `quota_mutex_` guards the rate limiter. `order_mutex_` covers formatting, which reads the clock,
// and queueing, so that lines are written in the order of their timestamps.

#include "base/log.h"

#include <spdlog/details/log_msg.h>
#include <spdlog/pattern_formatter.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <ostream>
#include <vector>

#include "base/color.h"
#include "base/escape.h"
#include "base/log_writer.h"

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

constexpr std::string_view kTooMuch = "log lines dropped (rate limit)";

/// Returns whether the field is part of the subject of the rate limit.
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

std::string_view ColorOf(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return "\033[36m";
    case LogLevel::kInfo: return "\033[32m";
    case LogLevel::kWarning: return "\033[33m\033[1m";
    case LogLevel::kError: return "\033[31m\033[1m";
  }
  return "";
}

std::unique_ptr<LogWriter> WriteToStderr(const LogStyle& style) {
  return std::make_unique<LogWriter>(STDERR_FILENO, [style](std::uint64_t count) {
    const LogField fields[] = {{"count", count}};
    return FormatLogLine(style, LogLevel::kWarning, "log lines dropped", fields);
  });
}

}  // namespace

LogStyle StderrStyle(LogFormat format) { return {format, WantsColor(STDERR_FILENO)}; }

std::string FormatLogLine(const LogStyle& style, LogLevel level, std::string_view message,
                          std::span<const LogField> fields) {
  const bool text = style.format == LogFormat::kText;
  const std::string payload = text ? TextLine(message, fields) : JsonMembers(message, fields);
  const char* pattern = text ? "%Y-%m-%dT%H:%M:%S.%eZ %^%l%$ %v"
                             : R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})";
  spdlog::pattern_formatter formatter(pattern, spdlog::pattern_time_type::utc, "\n");
  const spdlog::details::log_msg line("", ToSpdlog(level), {payload.data(), payload.size()});
  spdlog::memory_buf_t buffer;
  formatter.format(line, buffer);
  std::string result(buffer.data(), buffer.size());
  if (style.colored && line.color_range_end > line.color_range_start) {
    result.insert(line.color_range_end, "\033[m");
    result.insert(line.color_range_start, ColorOf(level));
  }
  return result;
}

Log::Log(LogLevel level, LogFormat format)
    : style_(StderrStyle(format)), level_(level), writer_(WriteToStderr(style_)) {}

Log::Log(LogLevel level, LogFormat format, std::ostream& out, Clock clock)
    : style_{format}, clock_(std::move(clock)), level_(level), out_(&out) {}

Log::~Log() {
  if (const std::size_t count = quota_.SuppressedCount(); count > 0) {
    const LogField fields[] = {{"count", count}};
    Put(LogLevel::kWarning, kTooMuch, fields);
  }
}

void Log::Flush(std::chrono::milliseconds longest) {
  if (writer_) writer_->Drain(longest);
}

std::uint64_t Log::dropped() const { return writer_ ? writer_->dropped() : 0; }

void Log::Write(LogLevel level, std::string_view message, Fields fields) {
  if (level < level_) return;
  const LogRateLimiter::Outcome outcome = Ask(level, message, fields);
  if (!outcome.write) return;
  if (outcome.left_out_of_all > 0) {
    const LogField count[] = {{"count", outcome.left_out_of_all}};
    Put(level, kTooMuch, count);
  }
  if (outcome.left_out_alike > 0) {
    std::vector<LogField> about = {{"like", message}};
    std::copy_if(fields.begin(), fields.end(), std::back_inserter(about), IsOfSubject);
    about.emplace_back("count", outcome.left_out_alike);
    Put(level, "repeated log lines suppressed", about);
  }
  Put(level, message, {fields.begin(), fields.size()});
}

LogRateLimiter::Outcome Log::Ask(LogLevel level, std::string_view message, Fields fields) {
  std::string subject(message);
  for (const LogField& field : fields) {
    if (IsOfSubject(field)) subject.append("\n").append(field.value);
  }
  const std::lock_guard lock(quota_mutex_);
  return level == LogLevel::kDebug ? quota_.AllowDetail(clock_()) : quota_.Admit(subject, clock_());
}

void Log::Put(LogLevel level, std::string_view message, std::span<const LogField> fields) {
  const std::lock_guard lock(order_mutex_);
  std::string line = FormatLogLine(style_, level, message, fields);
  if (writer_) return writer_->Write(std::move(line));
  *out_ << line << std::flush;
}

}  // namespace patchbay
