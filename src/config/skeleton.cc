#include "config/skeleton.h"

namespace patchbay {
namespace {

void Push(Skeleton& skeleton, char c, std::size_t offset) {
  // A literal byte may not pass for a variable; another control character takes its place.
  skeleton.text.push_back(c == Skeleton::kField ? '\x02' : c);
  skeleton.offsets.push_back(offset);
}

}  // namespace

Skeleton SkeletonOf(const Template& compiled) {
  Skeleton skeleton;
  const std::string& text = compiled.text();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{' && text[i + 1] != '{') {
      skeleton.names.push_back(compiled.fields()[skeleton.names.size()].name);
      skeleton.text.push_back(Skeleton::kField);
      skeleton.offsets.push_back(i);
      i = text.find('}', i);
    } else {
      Push(skeleton, text[i], i);
      if (text[i] == '{' || text[i] == '}') ++i;  // the second of a doubled brace
    }
  }
  return skeleton;
}

Skeleton LiteralSkeleton(std::string_view text) {
  Skeleton skeleton;
  for (std::size_t i = 0; i < text.size(); ++i) Push(skeleton, text[i], i);
  return skeleton;
}

}  // namespace patchbay
