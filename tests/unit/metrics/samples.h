#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>

#include "metrics/metrics_text.h"
#include "status/status_store.h"

namespace patchbay::test {

/// Returns a status whose clock stands still.
inline std::shared_ptr<StatusStore> MakeStatus(bool device_metrics = true) {
  return std::make_shared<StatusStore>(
      NodeStatus{.version = "1.2.3", .revision = "abc", .device_metrics = device_metrics},
      [] { return std::chrono::system_clock::time_point(std::chrono::seconds(1700000000)); });
}

inline std::string TextOf(const std::shared_ptr<StatusStore>& status) {
  return MetricsText(status->Read(), 0);
}

/// Returns the samples of a scrape: `name{labels}` and the value as text.
inline std::map<std::string, std::string> Samples(const std::shared_ptr<StatusStore>& status) {
  std::map<std::string, std::string> samples;
  std::istringstream text(TextOf(status));
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with('#')) continue;
    const std::size_t space = line.rfind(' ');
    const bool added = samples.emplace(line.substr(0, space), line.substr(space + 1)).second;
    EXPECT_TRUE(added) << "twice: " << line;
  }
  return samples;
}

/// Returns the families of a scrape: `name type label,label`; the labels are those of any of its
/// samples.
inline std::set<std::string> MetricFamilies(const std::shared_ptr<StatusStore>& status) {
  std::map<std::string, std::string> types;
  std::map<std::string, std::set<std::string>> labels;
  std::istringstream text(TextOf(status));
  std::string family;
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    std::string hash, kind, type;
    if (line.starts_with("# TYPE ")) {
      words >> hash >> kind >> family >> type;
      EXPECT_TRUE(types.emplace(family, type).second) << family;
    } else if (!line.starts_with('#')) {
      EXPECT_TRUE(line.starts_with(family)) << line;
      const std::size_t open = line.find('{');
      if (open == std::string::npos) continue;
      for (std::size_t at = open + 1; at < line.rfind('}');) {
        const std::size_t equals = line.find('=', at);
        const std::string name = line.substr(at, equals - at);
        if (name != "le") labels[family].insert(name);
        at = line.find('"', equals + 2) + 2;
      }
    }
  }
  std::set<std::string> families;
  for (const auto& [name, type] : types) {
    std::string row = name + " " + type;
    for (const std::string& label : labels[name]) row += " " + label;
    families.insert(row);
  }
  return families;
}

/// Returns the rows of metrics.golden that begin with one of these words, without the word.
inline std::set<std::string> Golden(const std::set<std::string>& wanted) {
  std::ifstream file(PATCHBAY_SOURCE_DIR "/tests/unit/metrics/metrics.golden");
  std::set<std::string> families;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string when, row;
    words >> when >> std::ws;
    std::getline(words, row);
    if (wanted.count(when) != 0) families.insert(row);
  }
  EXPECT_FALSE(families.empty());
  return families;
}

}  // namespace patchbay::test
