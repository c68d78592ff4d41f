#include "discovery/device_id.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/format.h"
#include "base/hash.h"

namespace patchbay {
namespace {

bool IsSafe(char c) {
  return IsAlnum(c) || std::string_view("._:@+-").find(c) != std::string_view::npos;
}

}  // namespace

std::string DeviceId(std::string_view text, std::size_t longest) {
  const bool has_slash = text.find('/') != std::string_view::npos;
  // "." and ".." would be directories in a path that contains the ID.
  bool lossy = text.empty() || text.size() > longest || text == "." || text == "..";
  std::string id(text);
  for (char& c : id) {
    if (c == '/') {
      c = ':';
    } else if (!IsSafe(c)) {
      lossy = true;
      c = '_';
    } else if (c == ':') {
      // It would be indistinguishable from a slash.
      lossy = lossy || has_slash;
    }
  }
  if (!lossy) return id;
  const std::string suffix = Format("-{:08x}", ShortHash(text));
  id.resize(std::min(id.size(), longest - suffix.size()));
  return id + suffix;
}

}  // namespace patchbay
