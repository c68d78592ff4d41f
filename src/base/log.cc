// The calling thread makes the payload of a line, spdlog's asynchronous logger queues it, and a
// sink writes it. A sink of spdlog in front of that skips repeated lines.

#include "base/log.h"

#include <spdlog/async_logger.h>
#include <spdlog/details/log_msg.h>
#include <spdlog/details/thread_pool.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/dup_filter_sink.h>
#include <spdlog/sinks/ostream_sink.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <ostream>
#include <utility>

#include "base/color.h"
#include "base/escape.h"
#include "base/write_within.h"

namespace patchbay {
namespace {

using spdlog::details::log_msg;
using spdlog::details::thread_pool;

constexpr std::chrono::hours kUntilItIsRead{1'000'000};
constexpr std::string_view kMessageKey = "\"message\":";

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return spdlog::level::debug;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kWarning: return spdlog::level::warn;
    case LogLevel::kError: return spdlog::level::err;
  }
  return spdlog::level::info;
}

std::string_view ColorOf(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::debug: return "\033[36m";
    case spdlog::level::warn: return "\033[33m\033[1m";
    case spdlog::level::err: return "\033[31m\033[1m";
    default: return "\033[32m";
  }
}

bool NeedsQuotes(std::string_view value) {
  for (const unsigned char c : value) {
    if (c <= ' ' || c == '"' || c == '=' || c == '\\' || c >= 0x7f) return true;
  }
  return false;
}

std::string TextPayload(std::string_view message, Log::Fields fields) {
  std::string line = Printable(message);
  for (const LogField& field : fields) {
    if (field.value.empty()) continue;
    line.append(" ").append(field.key).append("=");
    line += NeedsQuotes(field.value) ? QuoteJson(field.value) : field.value;
  }
  return line;
}

/// Returns the members of the object that the line will be.
std::string JsonPayload(std::string_view message, Log::Fields fields) {
  std::string line = std::string(kMessageKey) + QuoteJson(message);
  for (const LogField& field : fields) {
    if (field.value.empty()) continue;
    line.append(",").append(QuoteJson(field.key)).append(":");
    line += field.is_number ? field.value : QuoteJson(field.value);
  }
  return line;
}

std::string PayloadOf(LogFormat format, std::string_view message, Log::Fields fields) {
  return format == LogFormat::kText ? TextPayload(message, fields) : JsonPayload(message, fields);
}

/// Writes the payload of a line in JSON. What a sink of spdlog writes itself is a message.
class JsonMembers : public spdlog::custom_flag_formatter {
 public:
  void format(const log_msg& line, const std::tm&, spdlog::memory_buf_t& out) override {
    std::string payload(line.payload.data(), line.payload.size());
    if (!payload.starts_with(kMessageKey)) payload = JsonPayload(payload, {});
    out.append(payload.data(), payload.data() + payload.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JsonMembers>();
  }
};

std::unique_ptr<spdlog::formatter> FormatterOf(LogFormat format) {
  auto formatter = std::make_unique<spdlog::pattern_formatter>(
      "%Y-%m-%dT%H:%M:%S.%eZ %^%l%$ %v", spdlog::pattern_time_type::utc, "\n");
  if (format == LogFormat::kJson) {
    formatter->add_flag<JsonMembers>('*').set_pattern(
        R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%*})");
  }
  return formatter;
}

void BlockSignals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);  // the loop handles them; write(2) fails with EPIPE
}

}  // namespace

/// Writes to a file descriptor, on its thread.
class Log::Writer : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  Writer(int descriptor, LogFormat format)
      : base_sink(FormatterOf(format)),
        descriptor_(descriptor),
        format_(format),
        is_colored_(format == LogFormat::kText && WantsColor(descriptor)) {}

  const std::shared_ptr<thread_pool>& pool() const { return pool_; }
  std::uint64_t dropped() const { return pool_->overrun_counter() + failed_; }

  /// Queues a flush, and waits until one was made: spdlog's own flush does not wait.
  void Flush(spdlog::logger& logger, std::chrono::milliseconds longest) {
    std::unique_lock lock(mutex_);
    const std::uint64_t before = flushes_;
    logger.flush();
    flushed_.wait_for(lock, longest, [&] { return flushes_ != before; });
  }

 private:
  void sink_it_(const log_msg& line) override {
    const std::uint64_t dropped = this->dropped();
    if (dropped > reported_) {
      const Log::Fields fields = {{"count", dropped - reported_}};
      const std::string payload = PayloadOf(format_, "log lines dropped", fields);
      if (Put(log_msg("", spdlog::level::warn, payload))) reported_ = dropped;
    }
    if (!Put(line)) ++failed_;
  }

  void flush_() override {
    const std::lock_guard lock(mutex_);
    ++flushes_;
    flushed_.notify_all();
  }

  bool Put(const log_msg& line) {
    spdlog::memory_buf_t buffer;
    formatter_->format(line, buffer);
    std::string text(buffer.data(), buffer.size());
    if (is_colored_ && line.color_range_end > line.color_range_start) {
      text.insert(line.color_range_end, "\033[m");
      text.insert(line.color_range_start, ColorOf(line.level));
    }
    return WriteWithin(descriptor_, text, kUntilItIsRead);
  }

  const int descriptor_;
  const LogFormat format_;
  const bool is_colored_;
  std::uint64_t reported_ = 0;  ///< dropped lines
  std::atomic<std::uint64_t> failed_ = 0;
  std::mutex mutex_;
  std::condition_variable flushed_;
  std::uint64_t flushes_ = 0;
  /// Never destroyed: that would wait for a write that blocks.
  const std::shared_ptr<thread_pool> pool_{new thread_pool(kQueueLines, 1, BlockSignals),
                                           [](thread_pool*) {}};
};

Log::Log(LogLevel level, LogFormat format, int descriptor)
    : format_(format), writer_(std::make_shared<Writer>(descriptor, format)) {
  const auto filter = std::make_shared<spdlog::sinks::dup_filter_sink_st>(kRepeatTime);
  filter->add_sink(writer_);
  logger_ = std::make_shared<spdlog::async_logger>("", filter, writer_->pool(),
                                                   spdlog::async_overflow_policy::overrun_oldest);
  SetLevel(level);
}

Log::Log(LogLevel level, LogFormat format, std::ostream& out)
    : format_(format),
      logger_(std::make_shared<spdlog::logger>(
          "", std::make_shared<spdlog::sinks::ostream_sink_mt>(out, true))) {
  logger_->set_formatter(FormatterOf(format));
  SetLevel(level);
}

Log::~Log() { Flush(kDrainTime); }

void Log::SetLevel(LogLevel level) { logger_->set_level(ToSpdlog(level)); }

void Log::Flush(std::chrono::milliseconds longest) {
  if (writer_) writer_->Flush(*logger_, longest);
}

std::uint64_t Log::dropped() const { return writer_ ? writer_->dropped() : 0; }

void Log::Write(LogLevel level, std::string_view message, Fields fields) {
  if (!logger_->should_log(ToSpdlog(level))) return;
  const std::string payload = PayloadOf(format_, message, fields);
  logger_->log(ToSpdlog(level), spdlog::string_view_t(payload.data(), payload.size()));
}

}  // namespace patchbay
