#include "kube/api_request.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/format.h"
#include "base/path.h"

namespace patchbay {

std::string ApiTarget(std::string_view path,
                      std::initializer_list<std::pair<std::string_view, std::string_view>> query) {
  std::string target(path);
  char separator = '?';
  for (const auto& [name, value] : query) {
    target += Format("{}{}={}", std::exchange(separator, '&'), name, EncodeForUrl(value));
  }
  return target;
}

std::string EncodeForUrl(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    if (IsAlnum(c) || std::string_view("-._~").find(c) != std::string_view::npos) {
      encoded += c;
    } else {
      encoded += Format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

bool IsApiTarget(std::string_view target) {
  constexpr std::size_t kMaxBytes = 8 << 10;
  if (!target.starts_with('/') || target.size() > kMaxBytes) return false;
  if (!std::ranges::all_of(target, [](char c) { return c > ' ' && c < 0x7f && c != '#'; })) {
    return false;
  }
  return std::ranges::none_of(SplitPath(target.substr(0, target.find('?'))),
                              [](std::string_view part) { return part == "." || part == ".."; });
}

}  // namespace patchbay
