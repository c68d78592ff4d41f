#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "cdi/cdi_spec.h"

namespace patchbay {

/// Reads the fields of a CDI file, see CdiFromJson, which also validates them. Sets `version` to
/// "cdiVersion". Fails with kInvalid for an unknown field, a wrong type or text that is not JSON.
Result<CdiSpec> ReadCdiSpec(std::string_view json, std::string& version);

}  // namespace patchbay
