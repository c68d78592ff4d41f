// The renderings of suggestions. WriteToml escapes the text of devices; in JSON it is made
// printable here.

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "base/escape.h"
#include "base/format.h"
#include "suggest/identity.h"
#include "suggest/suggest.h"

namespace patchbay {
namespace {

/// Returns a text that devices have in common if a pod can have any of them: the product. A place
/// or port is not that of another device.
std::string ProductOf(const Suggestion& one) {
  const NewMatch& match = one.entry.matches.front();
  const bool is_alone = !match.paths.empty() || !match.udev.attributes.empty() ||
                        one.identity.starts_with("by its place");
  const std::string& text = match.notes.front();
  return is_alone ? text : text.substr(0, text.rfind(" ("));
}

}  // namespace

std::string SuggestionsToml(const Suggestions& suggestions) {
  if (suggestions.list.empty() && suggestions.served.empty()) return "";
  NewFile file{.notes = suggestions.notes};
  for (const auto& [resource, count] : suggestions.served) {
    const std::string_view plural = count == 1 ? "" : "s";
    file.notes.push_back(Format("already served by {}: {} device{}", resource, count, plural));
  }
  bool is_all_comment = true;
  std::map<std::string, std::set<std::string>> products;  // by the resource
  std::set<std::tuple<std::string, std::vector<std::string>, std::string>> types;
  for (const Suggestion& one : suggestions.list) {
    NewMatch match = one.entry.matches.front();
    // Uncommented twice, an alternative for all of a type would find the same devices.
    std::erase_if(match.alternatives, [&](const NewMatch& other) {
      const auto type = std::tuple(one.entry.name, other.usb, other.pci);
      return other.notes.front() == kAllOfType && !types.insert(type).second;
    });
    is_all_comment = is_all_comment && match.is_comment;
    if (!match.is_comment) products[one.entry.name].insert(ProductOf(one));
    const auto same = std::ranges::find(file.resources, one.entry.name, &NewResource::name);
    if (same != file.resources.end()) {
      if (products[one.entry.name].size() > 1) {
        AddOnce("Pods get any of these devices; give each its own resource to choose.",
                same->notes);
      }
      same->matches.push_back(match);
      continue;
    }
    NewResource& added = file.resources.emplace_back(one.entry);
    const auto left_out = suggestions.left_out.find(one.kind);
    if (left_out != suggestions.left_out.end()) {
      added.notes.push_back(Format("{} more devices of this kind are left out.", left_out->second));
    }
  }
  if (is_all_comment) {
    file.notes.emplace_back(
        suggestions.list.empty()
            ? "All devices that were found are served, so this file has no resource."
            : "All entries are comments, so check warns that this file has no resource: read the "
              "reasons, and remove the # of what pods may get.");
  }
  return WriteToml(file);
}

nlohmann::ordered_json SuggestionsJson(const Suggestions& suggestions) {
  auto list = nlohmann::ordered_json::array();
  for (const Suggestion& one : suggestions.list) {
    auto devices = nlohmann::ordered_json::array();
    for (const std::string& device : one.devices) devices.push_back(Printable(device));
    list.push_back({{"kind", one.kind},
                    {"name", one.entry.name},
                    {"description", Printable(one.entry.matches.front().notes.front())},
                    {"devices", std::move(devices)},
                    {"identity", one.identity},
                    {"served_by", one.served_by},
                    {"danger", one.danger},
                    {"entry", WriteToml({.resources = {one.entry}})}});
  }
  return list;
}

}  // namespace patchbay
