#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "convert/manifest.h"

namespace patchbay {

/// Returns whether the name, image or command of a container identifies a program.
bool RunsProgram(const Manifest::Container& container, std::string_view program);

/// Removes a program from the arguments of a container, with the words in front of it. If they run
/// a shell, its command line becomes the arguments, word by word.
void KeepArguments(Manifest::Container& container, std::string_view program);

/// Returns the name of a flag with as many dashes as in the help of the plugin: "--device" or "-h".
/// Returns "" for other arguments.
std::string FlagOf(const Manifest::Argument& argument);
/// Returns the value of the flag at an index: the text after its "=", or the next argument, whose
/// index the function sets. Returns nothing if there is none.
std::optional<Manifest::Argument> ValueOfFlag(const std::vector<Manifest::Argument>& arguments,
                                              std::size_t& index);

/// Returns whether the arguments of a container contain --device.
bool NamesDevices(const Manifest::Container& container);
/// Returns the value of the last --config, which some versions name --config-file.
std::optional<Manifest::Argument> ConfigFlag(const Manifest::Container& container);

}  // namespace patchbay
