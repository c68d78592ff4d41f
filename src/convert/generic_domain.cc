// The domain of a device is the first of: the one from the caller, the --domain flag of the
// container that reads the device, its variable DOMAIN, the one in the file that it reads, the
// default of the version in the tag of its image, and an assumed default with a warning. A variable
// or file that is not in the input is a warning too, and so are files with different domains, if
// --config does not show which one the container reads. A template or unknown variable in the
// domain itself is not an assumption but an error.

#include "convert/generic_domain.h"

#include <algorithm>
#include <utility>

#include "base/escape.h"
#include "base/format.h"
#include "base/number.h"
#include "base/path.h"

namespace patchbay {
namespace {

using Container = Manifest::Container;

/// The default domains of the plugin up to version 0.1, and from 0.2 on.
constexpr std::string_view kOldDomain = "squat.ai";
constexpr std::string_view kNewDomain = "devic.es";
constexpr std::string_view kMicroShiftDomain = "device.microshift.io";

/// Returns the default domain of the version in the tag of an image, or nothing if the tag is not a
/// version.
std::optional<std::string_view> DomainOfImage(std::string_view image) {
  const std::string_view last = BaseName(image.substr(0, image.find('@')));
  const auto colon = last.find(':');
  std::string_view tag = colon == std::string_view::npos ? "" : last.substr(colon + 1);
  if (tag.starts_with('v')) tag.remove_prefix(1);
  const auto dot = std::min(tag.find('.'), tag.size());
  const std::string_view rest = tag.substr(std::min(dot + 1, tag.size()));
  const auto major = ParseNumber<int>(tag.substr(0, dot));
  const auto minor = ParseNumber<int>(rest.substr(0, rest.find_first_not_of("0123456789")));
  if (!major || !minor) return std::nullopt;
  return std::pair(*major, *minor) >= std::pair(0, 2) ? kNewDomain : kOldDomain;
}

/// Returns the domain in a document, or the default of MicroShift.
std::optional<std::string> DomainIn(const Manifest::Document& document) {
  const YamlValue domain = document.value.Find("domain");
  if (domain.IsScalar()) return domain.text();
  return document.key == kMicroShift ? std::optional(std::string(kMicroShiftDomain)) : std::nullopt;
}

}  // namespace

/// Returns the domains in the files that a container can read; nothing stands for a file without
/// one. Empty if the input contains no such file.
std::set<std::optional<std::string>> GenericDomains::InFiles(const Container& container) {
  const Manifest::File& file = container.file;
  std::set<std::optional<std::string>> domains, in_named_file;
  const auto add = [&](const std::string& name, const YamlValue& value) {
    const YamlValue domain = value.Find("domain");
    if (!domain && !value.Find("devices") && !value.Find("device")) return;
    const auto text = domain.IsScalar() ? std::optional(domain.text()) : std::nullopt;
    domains.insert(text);
    if (name == file.name()) in_named_file.insert(text);
  };
  const auto add_text = [&](const std::string& name, const std::string& text) {
    Diagnostics ignored;
    Findings findings(ignored);
    const auto nowhere = [](int, int) { return SourceLocation(); };
    for (const YamlValue& value : ReadYaml(text, nowhere, budget_, findings)) add(name, value);
  };
  if (file.text) {
    add_text("", *file.text);
    return domains.empty() ? decltype(domains){std::nullopt} : domains;
  }
  for (const Manifest::Document& document : manifest_.documents) {  // in the values of its chart
    if (document.object.IsSameAs(container.object)) add(document.key, document.value);
  }
  for (const YamlValue& object : manifest_.objects) {  // a file that was passed with the manifest
    const bool is_file = !object.Find("kind") && !object.IsSameAs(container.object);
    if (is_file && !file.path.empty()) add("", object);
  }
  for (const auto& [name, is_in_input] : container.config_maps) {
    if (file.is_mounted || !is_in_input) continue;
    for (const auto& [key, text] : *config_maps_.Find(name, container.object)) add_text(key, text);
  }
  return in_named_file.empty() ? domains : in_named_file;
}

Domain GenericDomains::Find(const Container& container, const Manifest::Document* document,
                            const SourceLocation& place, Notes& notes) {
  const auto variable = config_maps_.Variable(container, "DOMAIN");
  // The plugin ignores an empty variable.
  if (variable && !variable->value.value_or("").empty()) {
    return {*variable->value, variable->source.place(), HintOnTemplate(*variable->value)};
  }
  const auto in_files = document != nullptr ? std::set{DomainIn(*document)} : InFiles(container);
  const auto in_file = in_files.empty() ? std::nullopt : *in_files.rbegin();
  const auto of_image = DomainOfImage(container.image);
  const std::string otherwise = in_file.value_or(std::string(of_image.value_or(kOldDomain)));
  const auto note_unknown = [&](const SourceLocation& cause, std::string_view subject,
                                const std::string& source, const std::string& hint) {
    findings_.Assumed(cause,
                      Format("{} can come from {}, which is not in the input; assuming {}", subject,
                             source, Truncate(otherwise, 100)),
                      Format("{}{}use --domain with the domain of the resources that `kubectl "
                             "describe node` shows",
                             hint, hint.empty() ? "" : ", or "));
    AddOnce(
        "A domain is assumed, because its source is not in the input. If the nodes have other "
        "resources, convert again with --domain.",
        notes);
  };
  if (variable && !variable->value) {
    note_unknown(variable->source.place(), "the variable DOMAIN",
                 Truncate(ToJson(variable->source), 200), variable->hint);
  } else if (in_files.empty() && !container.file.path.empty()) {
    note_unknown(container.file.place, "the domain", NameOf(container.file), container.file.hint);
  } else if (in_files.size() > 1) {
    findings_.Assumed(place,
                      Format("the files that the container can read have different domains; "
                             "assuming {}",
                             Truncate(otherwise, 100)),
                      "use --domain, or pass only the file that --config names");
  } else if (!in_file && !of_image && !std::exchange(has_assumed_, true)) {
    findings_.Assumed(
        place, Format("no domain specified; assuming {}", kOldDomain),
        Format("this is the default of generic-device-plugin up to 0.1; from 0.2.0 on "
               "it is {}. Check the resources of the nodes, and use --domain {} if needed",
               kNewDomain, kNewDomain));
    notes.push_back(Format(
        "The file specifies no domain. {} is the default of generic-device-plugin up to 0.1. If "
        "the nodes have {}/…, convert again with --domain {}.",
        kOldDomain, kNewDomain, kNewDomain));
  }
  return {otherwise, place, HintOnTemplate(otherwise)};
}

}  // namespace patchbay
