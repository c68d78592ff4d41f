#include "model/node_filter.h"

namespace patchbay {

bool NodeFilter::Matches(const std::string& node) const {
  return (only.empty() || MatchesAny(only, node)) && !MatchesAny(except, node);
}

std::vector<std::string> NodeFilter::Texts() const {
  std::vector<std::string> texts;
  for (const NamePattern& pattern : only) texts.push_back(pattern.text());
  for (const NamePattern& pattern : except) texts.push_back("!" + pattern.text());
  return texts;
}

}  // namespace patchbay
