#pragma once

#include <string>

#include "convert/convert.h"

namespace patchbay::test {

struct Outcome {
  std::string toml;      ///< empty if there are errors
  std::string findings;  ///< one line each, without the file name: "3:5 error message"
};

inline Outcome Converted(ForeignProgram from, const std::string& text,
                         const ConvertHints& hints = {}) {
  const Conversion conversion = Convert(from, {"in.yaml", text}, hints);
  Outcome outcome{conversion.toml.value_or(""), ""};
  for (const Diagnostic& d : conversion.diagnostics.Sorted()) {
    outcome.findings += std::to_string(d.place.line) + ":" + std::to_string(d.place.column) + " " +
                        std::string(Name(d.severity)) + " " + d.message + "\n";
  }
  return outcome;
}

}  // namespace patchbay::test
