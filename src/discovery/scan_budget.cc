#include "discovery/scan_budget.h"

#include <algorithm>
#include <utility>

namespace patchbay {

bool ScanBudget::Take(std::size_t bytes) {
  std::size_t left = left_;
  while (bytes <= left) {
    if (left_.compare_exchange_weak(left, left - bytes)) return true;
  }
  return false;
}

ScanShare::~ScanShare() {
  if (budget_ != nullptr) budget_->Return(held_);
}

void ScanShare::Begin(std::shared_ptr<ScanBudget> budget) {
  budget_ = std::move(budget);
  used_ = 0;
}

bool ScanShare::Take(std::size_t bytes) {
  const std::size_t all = used_ + bytes;
  if (all > kMax) return false;
  const std::size_t needed = std::max(all, kOwn) - kOwn;
  if (needed > held_) {
    if (!budget_->Take(needed - held_)) return false;
    held_ = needed;
  }
  used_ = all;
  return true;
}

void ScanShare::Trim() {
  const std::size_t needed = std::max(used_, kOwn) - kOwn;
  budget_->Return(held_ - needed);
  held_ = needed;
}

}  // namespace patchbay
