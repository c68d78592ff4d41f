#include "dra/device_name.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/format.h"
#include "dra/sha256.h"
#include "model/object_name.h"

namespace patchbay {
namespace {

constexpr std::size_t kHashDigits = 16;

bool IsNameByte(char c) { return IsLower(c) || IsDigit(c); }

/// Removes bytes at the end that no name ends with.
void TrimNameEnd(std::string& name) {
  while (!name.empty() && !IsNameByte(name.back())) name.pop_back();
}

/// Returns `text` as labels joined by bytes of `separators`, without empty labels.
std::string Labels(std::string_view text, std::string_view separators) {
  std::string name;
  for (const char byte : text) {
    const char c = ToLower(byte);
    if (IsNameByte(c)) {
      name.push_back(c);
    } else if (separators.find(c) != std::string_view::npos) {
      TrimNameEnd(name);
      if (!name.empty()) name.push_back(c);
    } else if (!name.empty() && separators.find(name.back()) == std::string_view::npos) {
      name.push_back('-');
    }
  }
  TrimNameEnd(name);
  return name;
}

/// Returns whether a name ends as those with a hash do. A text that is such a name gets a hash of
/// its own; otherwise it could be the name of another text.
bool LooksHashed(std::string_view name) {
  if (name.size() < kHashDigits) return false;
  const std::string_view end = name.substr(name.size() - kHashDigits);
  const bool is_alone = name.size() == kHashDigits || name[name.size() - kHashDigits - 1] == '-';
  return is_alone && std::ranges::all_of(end, IsLowerHex);
}

std::string Shorten(std::string_view text, std::string_view separators, std::size_t longest) {
  std::string name = Labels(text, separators);
  if (!name.empty() && name == text && name.size() <= longest && !LooksHashed(name)) return name;
  if (name.size() > longest - kHashDigits - 1) name.resize(longest - kHashDigits - 1);
  TrimNameEnd(name);
  return (name.empty() ? "" : name + "-") + HashDigits(text, kHashDigits);
}

}  // namespace

std::string SliceDeviceName(std::string_view device_id) {
  return Shorten(device_id, "", kMaxLabel);
}

std::string PoolName(std::string_view node_name, std::string_view resource) {
  return Shorten(Format("{}/{}", node_name, resource), "./", kMaxSubdomain);
}

std::string DeviceClassName(std::string_view resource) {
  const auto slash = resource.find('/');
  return Format("{}.{}", SliceDeviceName(resource.substr(slash + 1)), resource.substr(0, slash));
}

}  // namespace patchbay
