#include "base/escape.h"
#include "base/format.h"
#include "health/probe_factory.h"
#include "model/render.h"

namespace patchbay {
namespace {

constexpr std::size_t kMaxBytes = 64 * 1024;
constexpr std::size_t kMaxShown = 100;

/// Returns whether a message can quote the content of the file: only for kernel file systems,
/// because many users can read the message.
bool IsOfKernel(std::string_view real_path) {
  return real_path.starts_with("/sys/") || real_path.starts_with("/proc/");
}

}  // namespace

ProbeOutcome Probe(const FileProbe& probe, const ProbeRun& run) {
  const auto path = RenderPath(probe.path, run.variables, "health.file");
  if (!path) return {ProbeResult::kError, Printable(path.error().message)};
  const HostRoot& host = run.context.host;
  // Resolves links only once, so that the check and the content are of the same file.
  const auto file = host.Resolve(*path);
  auto text = file ? host.ReadFile(file->path, kMaxBytes) : tl::unexpected(file.error());
  if (!text) return {ProbeResult::kFailure, std::move(text).error().message};
  if (text->ends_with('\n')) text->pop_back();

  const bool may_quote = IsOfKernel(file->path);
  const std::string shown = Truncate(*text, kMaxShown);
  if (const auto* pattern = std::get_if<TextPattern>(&probe.wanted)) {
    if (pattern->Matches(*text)) return {ProbeResult::kSuccess};
    return {ProbeResult::kFailure,
            may_quote ? Format("{} contains \"{}\", which does not match {}", *path, shown,
                               pattern->text())
                      : Format("the content of {} does not match {}", *path, pattern->text())};
  }
  const auto& wanted = std::get<std::string>(probe.wanted);
  if (*text == wanted) return {ProbeResult::kSuccess};
  const std::string other = Truncate(wanted, kMaxShown);
  return {ProbeResult::kFailure, may_quote
                                     ? Format("{} contains \"{}\", not \"{}\"", *path, shown, other)
                                     : Format("{} does not contain \"{}\"", *path, other)};
}

}  // namespace patchbay
