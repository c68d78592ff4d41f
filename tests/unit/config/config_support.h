#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/format.h"
#include "config/load.h"

namespace patchbay::test {

inline Loaded LoadText(std::string_view text) {
  return LoadTexts({{"test.toml", std::string(text)}});
}

/// Returns "line:column code" of every diagnostic, in order.
inline std::vector<std::string> Findings(const Loaded& loaded) {
  std::vector<std::string> findings;
  for (const Diagnostic& d : loaded.diagnostics.Sorted()) {
    findings.push_back(Format("{}:{} {}", d.place.line, d.place.column, d.code));
  }
  return findings;
}

inline Model LoadGood(std::string_view text) {
  Loaded loaded = LoadText(text);
  EXPECT_TRUE(loaded.model && loaded.diagnostics.empty()) << loaded.diagnostics.RenderText();
  return loaded.model ? std::move(*loaded.model) : Model();
}

/// Returns a resource with one match, followed by `more`.
inline std::string Resource(std::string_view more, std::string_view match = "path = '/dev/x*'") {
  return Format("[[resource]]\nname = 'a.com/x'\n[[resource.match]]\n{}\n{}\n", match, more);
}

}  // namespace patchbay::test
