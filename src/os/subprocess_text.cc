#include <algorithm>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/escape.h"
#include "base/format.h"
#include "os/subprocess.h"

namespace patchbay {
namespace {

constexpr std::size_t kMaxShown = 400;

std::string_view LastLine(std::string_view text) {
  const auto end = text.find_last_not_of(" \t\r\n");
  if (end == std::string_view::npos) return {};
  text = text.substr(0, end + 1);
  return text.substr(text.rfind('\n') + 1);
}

std::string Ending(const SubprocessSpec& spec, const SubprocessResult& result) {
  switch (result.end) {
    case SubprocessEnd::kExited: return Format("ended with exit code {}", result.code);
    case SubprocessEnd::kSignalled: {
      const char* name = sigdescr_np(result.code);
      return Format("was killed by signal {} ({})", result.code,
                    name != nullptr ? name : "unknown");
    }
    case SubprocessEnd::kTimedOut:
      return Format("timed out after {} ms and was stopped", spec.timeout.count());
    case SubprocessEnd::kCancelled: return "was stopped because patchbay is shutting down";
    case SubprocessEnd::kTooMuchOutput:
      return Format("printed more than {} bytes and was killed", spec.max_output);
    case SubprocessEnd::kFailed: break;
  }
  return result.error;
}

/// Joins the first lines into one: "no card; see dmesg".
std::string FirstLines(std::string_view output) {
  std::string line;
  while (!output.empty() && line.size() < kMaxShown) {
    const auto end = output.find('\n');
    std::string_view part = output.substr(0, end);
    while (part.ends_with(' ') || part.ends_with('\r')) part.remove_suffix(1);
    if (!part.empty()) line.append(line.empty() ? "" : "; ").append(part);
    output.remove_prefix(end == std::string_view::npos ? output.size() : end + 1);
  }
  return Truncate(line, kMaxShown);
}

}  // namespace

std::string DescribeEnd(const SubprocessSpec& spec, const SubprocessResult& result) {
  if (result.end == SubprocessEnd::kFailed) return result.error;
  std::string text = spec.argv.empty() ? "" : Truncate(spec.argv.front(), 100) + " ";
  text += Ending(spec, result);
  if (result.left_behind) text += ", but hangs in the kernel";
  return text;
}

std::string WithErrorLine(std::string text, const SubprocessResult& result) {
  const std::string_view last = LastLine(result.error_output);
  if (!last.empty()) text += ": " + Truncate(last, 200);
  return text;
}

std::string Describe(const SubprocessSpec& spec, const SubprocessResult& result) {
  std::string text = DescribeEnd(spec, result);
  if (result.end == SubprocessEnd::kFailed) return text;
  return WithErrorLine(std::move(text), result);
}

std::string DescribeWithOutput(const SubprocessSpec& spec, const SubprocessResult& result) {
  std::string text = DescribeEnd(spec, result);
  const std::string first_lines = FirstLines(result.error_output + "\n" + result.output);
  if (!first_lines.empty()) text += ": " + first_lines;
  return text;
}

}  // namespace patchbay
