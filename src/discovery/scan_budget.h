#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

namespace patchbay {

/// The memory that scans of all resources may use together for what they find, estimated in bytes.
/// Thread-safe.
class ScanBudget {
 public:
  static constexpr std::size_t kTotal = std::size_t{96} << 20;

  /// Returns false, and takes nothing, if less is left.
  bool Take(std::size_t bytes);
  void Return(std::size_t bytes) { left_ += bytes; }

 private:
  std::atomic<std::size_t> left_{kTotal};
};

/// The part of the budget that one resource uses. What its last scan found stays in use, so the
/// next scan can use that much again before it takes more. Used by one scan at a time.
class ScanShare {
 public:
  static constexpr std::size_t kMax = std::size_t{64} << 20;
  /// Each resource has this much of its own, besides the budget, so that others cannot starve it.
  static constexpr std::size_t kOwn = std::size_t{256} << 10;
  /// Estimates for a directory, which is watched, for a name that matches, and for a device.
  static constexpr std::size_t kDirectory = 1024;
  static constexpr std::size_t kEntry = 128;
  static constexpr std::size_t kDevice = 512;

  ScanShare() = default;
  ScanShare(const ScanShare&) = delete;
  ScanShare& operator=(const ScanShare&) = delete;
  ~ScanShare();

  /// A scan begins, and uses nothing yet. All calls for one object pass the same budget.
  void Begin(std::shared_ptr<ScanBudget> budget);
  /// Returns whether the scan may use these bytes too.
  bool Take(std::size_t bytes);
  /// Returns what the scan has not used again.
  void Trim();

 private:
  std::shared_ptr<ScanBudget> budget_;
  std::size_t held_ = 0;  ///< taken from the budget, beyond kOwn
  std::size_t used_ = 0;  ///< by this scan
};

}  // namespace patchbay
