#include "discovery/scan_budget.h"

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
  if (used_ + bytes > kMax) return false;
  const std::size_t more = used_ + bytes > held_ ? used_ + bytes - held_ : 0;
  if (!budget_->Take(more)) return false;
  held_ += more;
  used_ += bytes;
  return true;
}

void ScanShare::Trim() {
  budget_->Return(held_ - used_);
  held_ = used_;
}

}  // namespace patchbay
