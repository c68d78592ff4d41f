#include "model/object_name.h"

#include <algorithm>

#include "base/ascii.h"

namespace patchbay {

bool IsDnsLabel(std::string_view text) {
  const auto is_alnum = [](char c) { return IsLower(c) || IsDigit(c); };
  return !text.empty() && text.size() <= kMaxLabel && is_alnum(text.front()) &&
         is_alnum(text.back()) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return is_alnum(c) || c == '-'; });
}

bool IsDnsSubdomain(std::string_view text) {
  if (text.size() > kMaxSubdomain) return false;
  for (auto dot = text.find('.'); dot != std::string_view::npos; dot = text.find('.')) {
    if (!IsDnsLabel(text.substr(0, dot))) return false;
    text.remove_prefix(dot + 1);
  }
  return IsDnsLabel(text);
}

bool IsUid(std::string_view text) {
  return !text.empty() && text.size() <= 64 &&
         std::all_of(text.begin(), text.end(), [](char c) { return IsAlnum(c) || c == '-'; });
}

}  // namespace patchbay
