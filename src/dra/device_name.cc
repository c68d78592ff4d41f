#include "dra/device_name.h"

#include "base/ascii.h"
#include "base/format.h"
#include "base/hash.h"
#include "model/object_name.h"

namespace patchbay {
namespace {

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

std::string Shorten(std::string_view text, std::string_view separators, std::size_t longest) {
  std::string name = Labels(text, separators);
  if (!name.empty() && name == text && name.size() <= longest) return name;
  const std::string hash = Format("{:08x}", ShortHash(text));
  if (name.size() > longest - hash.size() - 1) name.resize(longest - hash.size() - 1);
  TrimNameEnd(name);
  return name.empty() ? hash : name + "-" + hash;
}

}  // namespace

bool IsPoolName(std::string_view text) {
  return !text.empty() && text.size() <= kMaxSubdomain && Labels(text, "./") == text;
}

std::string SliceDeviceName(std::string_view device_id) {
  return Shorten(device_id, "", kMaxLabel);
}

std::string PoolName(std::string_view node_name, std::string_view resource) {
  return Shorten(Format("{}/{}", node_name, resource), "./", kMaxSubdomain);
}

}  // namespace patchbay
