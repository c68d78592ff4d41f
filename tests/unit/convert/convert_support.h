#pragma once

#include <gtest/gtest.h>

#include <string>

#include "config/load.h"
#include "convert/convert.h"

namespace patchbay::test {

struct Outcome {
  std::string toml;      ///< empty if there is none
  std::string findings;  ///< one line each, without the file name: "3:5 error message"
};

/// Converts a text, and expects that the output can be loaded.
inline Outcome Converted(ForeignProgram from, const std::string& text,
                         const ConvertHints& hints = {}) {
  const Conversion conversion = Convert(from, {"in.yaml", text}, hints);
  Outcome outcome{conversion.text.value_or(""), ""};
  if (conversion.text) {
    const Loaded loaded = LoadTexts({{"patchbay.toml", outcome.toml}});
    EXPECT_FALSE(loaded.diagnostics.HasErrors()) << loaded.diagnostics.RenderText();
  }
  EXPECT_TRUE(conversion.text || conversion.diagnostics.HasErrors()) << text;
  for (const Diagnostic& d : conversion.diagnostics.Sorted()) {
    outcome.findings += std::to_string(d.place.line) + ":" + std::to_string(d.place.column) + " " +
                        std::string(Name(d.severity)) + " " + d.message + "\n";
  }
  return outcome;
}

}  // namespace patchbay::test
