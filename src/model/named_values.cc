#include "model/named_values.h"

#include <algorithm>

namespace patchbay {

void MergeValues(NamedValues from, NamedValues& to) {
  for (auto& entry : from) {
    const bool is_known =
        std::ranges::any_of(to, [&](const auto& other) { return other.first == entry.first; });
    if (!is_known) to.push_back(std::move(entry));
  }
}

}  // namespace patchbay
