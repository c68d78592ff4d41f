#include "base/color.h"

#include <unistd.h>

#include <cstdlib>

#include "base/format.h"

namespace patchbay {
namespace {

std::string_view CodeOf(Color color) {
  switch (color) {
    case Color::kBold: return "1";
    case Color::kRed: return "1;31";
    case Color::kGreen: return "32";
    case Color::kYellow: return "1;33";
    case Color::kCyan: return "36";
  }
  return "0";
}

}  // namespace

std::string Paint(std::string_view text, Color color, bool colored) {
  if (!colored || text.empty()) return std::string(text);
  return Format("\033[{}m{}\033[m", CodeOf(color), text);
}

bool WantsColor(bool is_terminal, const char* term, const char* no_color) {
  if (!is_terminal || (no_color != nullptr && *no_color != '\0')) return false;
  return term != nullptr && *term != '\0' && std::string_view(term) != "dumb";
}

bool WantsColor(int descriptor) {
  return WantsColor(isatty(descriptor) != 0, std::getenv("TERM"), std::getenv("NO_COLOR"));
}

}  // namespace patchbay
