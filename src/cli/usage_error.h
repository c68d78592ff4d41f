#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <string_view>

#include "cli/arguments.h"

namespace patchbay {

/// Returns the usage line of a command: "patchbay diff OLD NEW".
std::string UsageLine(const CLI::App& command);

/// Returns the error of a command line that CLI11 could not parse, in the words of CLI11, or with
/// what is probably meant by an unknown option. `command` is the command in the state in which
/// parsing failed. The text is not escaped. Pure, except that it checks whether a word is the name
/// of a file.
std::string UsageErrorText(const CLI::App& command, const CLI::ParseError& error);

/// Returns the error of an option or argument with an empty value, which none can have, or "".
std::string EmptyValueText(const CLI::App& command);

/// Returns the error of a missing or unknown command, with the command that is probably meant:
/// by meaning (`list` is `devices`), or by spelling. The text is not escaped. Pure.
std::string CommandErrorText(std::string_view word, std::span<const std::string_view> commands);

/// Returns the error of arguments that only their command makes invalid, or "". The text is not
/// escaped. Checks whether a resource is the name of a file, as UsageErrorText does.
std::string ArgumentErrorText(const Arguments& arguments);

/// Returns whether a word in the wrong place, or in place of a resource, is probably meant as the
/// configuration: the name of a TOML file.
bool IsMeantAsConfig(const std::string& word);

}  // namespace patchbay
