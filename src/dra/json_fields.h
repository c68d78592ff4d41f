#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace patchbay {

/// Helpers for JSON of the API, besides those of base/json.h. Pure.

/// Returns the error with the place where it was found in front of its message.
Failure Within(std::string_view place, Error error);

/// Returns the value of a quantity of Kubernetes that is a whole number, such as "50" or "1k";
/// nothing for any other text. The API server writes 1000 as "1k".
std::optional<std::int64_t> ParseQuantity(std::string_view text);

}  // namespace patchbay
