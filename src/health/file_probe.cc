#include "base/escape.h"
#include "base/format.h"
#include "health/kinds.h"

namespace patchbay {
namespace {

constexpr std::size_t kMostBytes = 64 * 1024;
constexpr std::size_t kMostShown = 100;

}  // namespace

ProbeOutcome Probe(const FileProbe& probe, const ProbeRun& run) {
  const auto path = probe.path.Render(run.variables);
  if (!path) return {ProbeResult::kError, path.error().message};
  auto text = run.context.host.ReadFile(*path, kMostBytes);
  if (!text) return {ProbeResult::kFailure, std::move(text).error().message};
  if (text->ends_with('\n')) text->pop_back();

  if (const auto* pattern = std::get_if<TextPattern>(&probe.wanted)) {
    if (pattern->Matches(*text)) return {ProbeResult::kSuccess};
    return {ProbeResult::kFailure, format("{} holds \"{}\", which does not match {}", *path,
                                          Excerpt(*text, kMostShown), pattern->text())};
  }
  const auto& wanted = std::get<std::string>(probe.wanted);
  if (*text == wanted) return {ProbeResult::kSuccess};
  return {ProbeResult::kFailure, format("{} holds \"{}\", not \"{}\"", *path,
                                        Excerpt(*text, kMostShown), Excerpt(wanted, kMostShown))};
}

}  // namespace patchbay
