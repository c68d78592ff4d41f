#include "kube/server_text.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/escape.h"

namespace patchbay {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

/// Base64 in both alphabets, the separators of JWT and of OpenShift's tokens, and the characters of
/// escapes.
bool IsTokenCharacter(char c) {
  return IsAlnum(c) || std::string_view("-._~+/=%\\&#;").find(c) != std::string::npos;
}

/// A part of a text, of characters of tokens and the line breaks between them.
struct TokenRun {
  std::size_t size = 0;        ///< in the text
  std::size_t characters = 0;  ///< without the line breaks
};

TokenRun RunAt(std::string_view text) {
  TokenRun run;
  for (;;) {
    while (run.size < text.size() && IsTokenCharacter(text[run.size])) {
      ++run.size;
      ++run.characters;
    }
    const std::size_t next = std::min(text.find_first_not_of(kBlanks, run.size), text.size());
    const bool breaks =
        text.substr(run.size, next - run.size).find_first_of("\r\n") != std::string_view::npos;
    if (!breaks || next == text.size() || !IsTokenCharacter(text[next])) return run;
    run.size = next;
  }
}

bool IsScheme(std::string_view word) {
  const std::string lower = ToLower(word);
  return lower == "bearer" || lower == "basic";
}

/// Returns whether a run is the name of an API group, such as "resource.k8s.io".
bool IsApiGroup(std::string_view run) {
  constexpr std::string_view kDomain = ".k8s.io";
  return run.ends_with(kDomain) &&
         std::ranges::all_of(run.substr(0, run.size() - kDomain.size()),
                             [](char c) { return IsLower(c) || c == '.'; });
}

}  // namespace

std::string CleanServerText(std::string_view text, std::size_t max_bytes) {
  std::string clean;
  bool is_after_scheme = false;
  while (!text.empty()) {
    if (!IsTokenCharacter(text.front())) {
      clean.push_back(text.front());
      text.remove_prefix(1);
      continue;
    }
    const TokenRun found = RunAt(text);
    const std::string_view run = text.substr(0, found.size);
    text.remove_prefix(found.size);
    const bool is_token = found.characters >= kMinTokenBytes && !IsApiGroup(run);
    clean += is_token || is_after_scheme ? std::string_view("(removed)") : run;
    is_after_scheme = IsScheme(run);
  }
  return Truncate(clean, max_bytes);
}

}  // namespace patchbay
