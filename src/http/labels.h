#pragma once

#include <string>
#include <string_view>

#include "base/escape.h"

namespace patchbay {

/// A value from outside as a label: Prometheus takes any UTF-8 and refuses a whole scrape for
/// anything else. Quotes, backslashes and line ends are the serializer's business.
inline std::string LabelValue(std::string_view value) {
  return IsUtf8(value) ? std::string(value) : Printable(value);
}

}  // namespace patchbay
