#include "model/named_values.h"

#include <algorithm>

namespace patchbay {

const NamedValues::Entries& NamedValues::entries() const {
  static const Entries kNone;
  return entries_ == nullptr ? kNone : *entries_;
}

void NamedValues::emplace_back(std::string name, std::string value) {
  if (entries_ == nullptr) entries_ = std::make_unique<Entries>();
  entries_->emplace_back(std::move(name), std::move(value));
}

void NamedValues::Merge(NamedValues from) {
  const std::unique_ptr<Entries> added = std::move(from.entries_);
  if (added == nullptr) return;
  for (auto& entry : *added) {
    const bool is_known =
        std::any_of(begin(), end(), [&](const auto& other) { return other.first == entry.first; });
    if (!is_known) emplace_back(std::move(entry.first), std::move(entry.second));
  }
}

}  // namespace patchbay
