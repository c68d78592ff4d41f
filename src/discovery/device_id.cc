#include "discovery/device_id.h"

#include <algorithm>

#include "base/format.h"
#include "base/hash.h"

namespace patchbay {
namespace {

bool IsSafe(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("._:@+-").find(c) != std::string_view::npos;
}

}  // namespace

std::string DeviceId(std::string_view text, std::size_t longest) {
  const bool has_slash = text.find('/') != std::string_view::npos;
  // "." and ".." would be directories in a path that contains the ID.
  bool lossy = text.empty() || text.size() > longest || text == "." || text == "..";
  std::string id;
  for (const char c : text) {
    // A colon in the text would be indistinguishable from a slash.
    lossy = lossy || (c != '/' && !IsSafe(c)) || (c == ':' && has_slash);
    id.push_back(c == '/' ? ':' : IsSafe(c) ? c : '_');
  }
  if (!lossy) return id;
  const std::string suffix = format("-{:08x}", ShortHash(text));
  id.resize(std::min(id.size(), longest - suffix.size()));
  return id + suffix;
}

}  // namespace patchbay
