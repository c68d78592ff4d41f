// Input: the body of a watch, and of a list. The lines are read at once and byte by byte.
#include <algorithm>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/escape.h"
#include "fuzz.h"
#include "kube/json_lines.h"
#include "kube/watch_event.h"

using namespace patchbay;

namespace {

constexpr std::size_t kMaxLine = 512;

/// Returns the lines up to one that is too long.
std::vector<std::string> Lines(std::string_view text, std::size_t part) {
  JsonLines splitter(kMaxLine);
  std::vector<std::string> lines;
  for (; !text.empty(); text.remove_prefix(std::min(part, text.size()))) {
    const auto fed = splitter.Feed(text.substr(0, part));
    if (!fed) return lines;
    lines.insert(lines.end(), fed->begin(), fed->end());
  }
  return lines;
}

void RequireVersion(std::string_view version) {
  fuzz::Require(!version.empty() && version.size() <= 64 && Printable(version) == version);
}

void RequireLine(const std::string& line) {
  fuzz::Require(!line.empty() && line.size() <= kMaxLine && line.find('\n') == std::string::npos);
  const auto parsed = ParseWatchLine(line);
  if (!parsed) return fuzz::Require(Printable(parsed.error().message) == parsed.error().message);
  if (const auto* event = std::get_if<WatchEvent>(&*parsed)) {
    fuzz::Require(event->object.is_object());
    RequireVersion(event->resource_version);
  } else if (const auto* bookmark = std::get_if<WatchBookmark>(&*parsed)) {
    RequireVersion(bookmark->resource_version);
  } else {
    fuzz::RequireMessage(std::get<ApiError>(*parsed).message);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::Text(data, size);
  const auto lines = Lines(text, 1);
  const auto at_once = Lines(text, std::max<std::size_t>(size, 1));
  // A line that is too long ends both, but the lines of the same call are lost with it.
  fuzz::Require(at_once == lines || at_once.empty());
  for (const std::string& line : lines) RequireLine(line);
  if (const auto page = ParseListPage(text, 100)) {
    RequireVersion(page->resource_version);
    fuzz::Require(Printable(page->next) == page->next);
    for (const auto& object : page->objects) fuzz::Require(object.is_object());
  }
  return 0;
}
