#pragma once

#include <string>
#include <string_view>

namespace patchbay {

/// The styles of text on a terminal.
enum class Color { kBold, kRed, kGreen, kYellow, kCyan };

/// Returns the text in a color, or unchanged if `colored` is false. The text must be printable.
std::string Paint(std::string_view text, Color color, bool colored);

/// Returns whether output to a file is colored: if it is a terminal, TERM is set and not "dumb",
/// and NO_COLOR is unset or empty. Takes the values of these variables, null if they are not set.
bool WantsColor(bool is_terminal, const char* term, const char* no_color);

/// Returns whether output to an open descriptor is colored, from the environment of this process.
bool WantsColor(int descriptor);

}  // namespace patchbay
