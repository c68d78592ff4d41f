#pragma once

#include <string>
#include <utility>
#include <vector>

namespace patchbay {

/// Values by name: the named groups of a regex, udev properties, the variables of a command. Their
/// Origin (model/variables.h) depends on the field that contains them.
using NamedValues = std::vector<std::pair<std::string, std::string>>;

/// Adds the values of `from` whose names `to` does not contain yet.
void MergeValues(NamedValues from, NamedValues& to);

}  // namespace patchbay
