#include "kube/json_lines.h"

#include <utility>

#include "base/format.h"

namespace patchbay {

Result<std::vector<std::string>> JsonLines::Feed(std::string_view bytes) {
  std::vector<std::string> lines;
  for (;;) {
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (part.size() > max_line_ - partial_.size()) {
      return Fail(ErrorKind::kInvalid, Format("a line is longer than {} bytes", max_line_));
    }
    partial_ += part;
    if (end == std::string_view::npos) return lines;
    if (partial_.ends_with('\r')) partial_.pop_back();
    if (!partial_.empty()) lines.push_back(std::exchange(partial_, {}));
    bytes.remove_prefix(end + 1);
  }
}

}  // namespace patchbay
