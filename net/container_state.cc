#include "net/container_state.h"

namespace patchbay {
namespace {

constexpr int kMaxPid = 1 << 22;  // PID_MAX_LIMIT of the kernel

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/// Returns the string that begins behind a quotation mark, as it is written. Leaves `at` behind it.
std::optional<std::string_view> StringAt(std::string_view text, std::size_t& at) {
  const std::size_t start = at;
  for (; at < text.size(); ++at) {
    if (text[at] == '"') return std::string_view(text.data() + start, at++ - start);
    if (text[at] == '\\') ++at;
  }
  return std::nullopt;
}

/// Returns 0 for a text that is not the number of a process.
int PidAt(std::string_view text, std::size_t at) {
  int pid = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
    pid = pid * 10 + (text[at] - '0');
    if (pid > kMaxPid) return 0;
  }
  const bool is_whole =
      at < text.size() && (IsSpace(text[at]) || text[at] == ',' || text[at] == '}');
  return is_whole ? pid : 0;
}

bool IsId(std::string_view text) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  return text.size() <= 128 && text.find_first_not_of(kAllowed) == std::string_view::npos;
}

}  // namespace

// The text is scanned for the members of the outermost object. Brackets have to match in number, so
// that a part of a state is refused; what is inside is of no interest.
std::optional<ContainerState> ParseContainerState(std::string_view text) {
  ContainerState state;
  std::string_view key;
  int depth = 0;
  bool is_value = false, is_complete = false;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (IsSpace(c)) {
      ++at;
      continue;
    }
    if (is_complete || (depth == 0 && c != '{')) return std::nullopt;
    if (depth == 1 && is_value && key == "pid") {
      if (state.pid != 0) return std::nullopt;
      state.pid = PidAt(text, at);
      if (state.pid == 0) return std::nullopt;
    }
    ++at;
    if (c == '"') {
      const auto string = StringAt(text, at);
      if (!string) return std::nullopt;
      if (depth == 1 && is_value && key == "id" && IsId(*string)) state.id = *string;
      if (depth == 1 && !is_value) key = *string;
    }
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') is_complete = --depth == 0;
    if (depth == 1 && (c == ':' || c == ','))
      is_value = c == ':';
    else if (depth == 1)
      is_value = false;
  }
  return is_complete && state.pid != 0 ? std::optional(state) : std::nullopt;
}

}  // namespace patchbay
