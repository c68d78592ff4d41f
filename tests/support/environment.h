#pragma once

#include <cstdlib>

namespace patchbay::test {

/// Returns a number from the environment.
inline unsigned FromEnvironment(const char* name, unsigned otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

}  // namespace patchbay::test
