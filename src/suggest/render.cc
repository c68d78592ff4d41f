// The renderings of suggestions. WriteToml escapes the text of devices; in JSON it is made
// printable here.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/escape.h"
#include "base/format.h"
#include "suggest/suggest.h"

namespace patchbay {

namespace {

/// Returns what the devices are that can replace a device; "" if there are none.
std::string ProductOf(const Suggestion& one) {
  const NewMatch& match = one.entry.matches.front();
  const std::string& text = match.notes.front();
  const bool is_port = std::ranges::any_of(match.udev.attributes, [](const auto& attribute) {
    return attribute.first == "bInterfaceNumber";
  });
  const bool is_alone = is_port || one.identity.starts_with("by its place") ||
                        one.identity.starts_with("by its name");
  return is_alone ? "" : text.substr(0, text.rfind(" ("));
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
  std::map<std::string, std::string> products;  // of resources
  for (const Suggestion& one : suggestions.list) {
    is_all_comment = is_all_comment && one.entry.matches.front().is_comment;
    const auto same = std::ranges::find(file.resources, one.entry.name, &NewResource::name);
    const bool is_comment = one.entry.matches.front().is_comment;
    const bool is_second =
        !is_comment && !products.try_emplace(one.entry.name, ProductOf(one)).second;
    if (same != file.resources.end()) {
      const std::string& product = products[one.entry.name];
      if (is_second && (product.empty() || product != ProductOf(one))) {
        AddOnce("Pods get any of these devices; give each its own resource to choose.",
                same->notes);
      }
      same->matches.push_back(one.entry.matches.front());
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
