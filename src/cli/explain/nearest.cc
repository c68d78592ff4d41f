#include "cli/explain/nearest.h"

#include <vector>

#include "base/format.h"
#include "suggest/suggest.h"

namespace patchbay {
namespace {

/// Returns a path that the glob matches, with 0 for each wildcard.
std::string ExampleOf(const Glob::Components& glob) {
  std::string path;
  for (const Glob::Component& component : glob) {
    path += '/';
    bool in_brackets = false;
    for (const char c : component.name.text()) {
      if (in_brackets) {
        in_brackets = c != ']';
      } else {
        in_brackets = c == '[';
        path += in_brackets || c == '*' || c == '?' ? '0' : c;
      }
    }
  }
  return path;
}

void AddIds(const std::vector<HardwareId>& ids, std::vector<std::string>& words) {
  for (const HardwareId& id : ids) {
    if (id.vendor && id.product) words.push_back(Format("{:04x}:{:04x}", *id.vendor, *id.product));
  }
}

/// Returns words for what a match selects, as `suggest` takes them.
std::vector<std::string> WordsOf(const MatchSpec& match) {
  std::vector<std::string> words;
  if (const auto* paths = std::get_if<PathSource>(&match.source)) {
    for (const Glob& glob : paths->globs) {
      for (const Glob::Components& one : glob.alternatives()) words.push_back(ExampleOf(one));
    }
  }
  if (const auto* usb = std::get_if<UsbPattern>(&match.source)) AddIds(usb->ids, words);
  if (const auto* pci = std::get_if<PciPattern>(&match.source)) AddIds(pci->ids, words);
  if (match.conditions.usb) AddIds(match.conditions.usb->ids, words);
  if (match.conditions.pci) AddIds(match.conditions.pci->ids, words);
  return words;
}

}  // namespace

std::string NearestEntry(const MatchSpec& match, const HostRoot& host) {
  for (const std::string& word : WordsOf(match)) {
    Suggestions found = Suggest(host, {.devices = {word}});
    if (found.list.empty() && !found.unknown.empty() && !found.unknown.front().similar.empty()) {
      found = Suggest(host, {.devices = {found.unknown.front().similar.front()}});
    }
    if (!found.list.empty()) {
      found.notes.clear();
      return SuggestionsToml(found);
    }
  }
  return "";
}

}  // namespace patchbay
