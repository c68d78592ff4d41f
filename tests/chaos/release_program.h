#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "support/temp_tree.h"

namespace patchbay::test {

/// A program for release hooks, which succeeds, fails or hangs, and records the devices that it ran
/// for.
///
/// Every change returns what was done.
class ReleaseProgram {
 public:
  explicit ReleaseProgram(TempTree& tree);

  std::string Change();

  /// Returns the hook as TOML.
  std::string Toml() const;
  /// Returns how often it ran for a device, by resource and ID.
  std::map<std::pair<std::string, std::string>, std::size_t> Runs() const;
  /// Returns how often it ran in each mode.
  std::map<std::string, std::size_t> Ways() const;

 private:
  void SetMode(const std::string& mode);

  TempTree& tree_;
  std::size_t changes_ = 0;
};

}  // namespace patchbay::test
