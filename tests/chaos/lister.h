#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "chaos/random.h"
#include "support/temp_tree.h"

namespace patchbay::test {

/// A program for the `command` of a match, and what it prints. Some of its entries are valid and
/// name a device and a label; the rest must be rejected.
///
/// Every change returns what was done. It takes effect when the daemon runs the program again.
class Lister {
 public:
  /// `node` + i is the path of the node of device i on the host, and `id` + i is the ID that is
  /// printed for it.
  Lister(TempTree& tree, std::string node, std::string id, std::size_t devices);

  std::string Change(Random& random);
  /// Makes the program succeed from now on.
  std::string End();

  /// Returns the program and its argument as a TOML list.
  std::string Command() const;
  /// The labels that the program prints when it succeeds, by device ID.
  const std::map<std::string, std::string>& labels() const { return labels_; }
  /// Returns how often the program ran in each mode.
  std::map<std::string, std::size_t> Runs() const;

 private:
  void SetMode(const std::string& mode);
  void SetText(const std::string& name, const std::string& text);
  std::string Print(Random& random);

  TempTree& tree_;
  const std::string node_, id_;
  const std::size_t devices_;
  std::map<std::string, std::string> labels_;
  std::size_t changes_ = 0;
};

}  // namespace patchbay::test
