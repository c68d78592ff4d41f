// A container reads its configuration from the file that --config names. The file can be a key of a
// ConfigMap; where the path is not in a volume, all ConfigMaps that the container mounts count.

#include "convert/readers.h"

#include <algorithm>
#include <set>

#include "base/escape.h"
#include "base/format.h"
#include "convert/command_line.h"
#include "convert/config_maps.h"

namespace patchbay {
namespace {

using Container = Manifest::Container;

/// Returns whether the mounts of a container show where its file is, also if it is not in the
/// input.
bool HasKnownFile(const Container& container) {
  return container.file.path.empty() ? !container.config_maps.empty() : container.file.is_mounted;
}

/// Returns the name of a document for messages.
std::string NameOf(const Manifest::Document& document) {
  const std::string name = Format("`{}`", Truncate(document.key, 100));
  return document.config_map.empty()
             ? name
             : Format("{} in the ConfigMap {}", name, Truncate(document.config_map, 100));
}

}  // namespace

bool Reads(const Container& container, const Manifest::Document& document) {
  const Manifest::File& file = container.file;
  if (!container.config_maps.contains(document.config_map) ||
      !CanShareNamespace(NamespaceOf(container.object), NamespaceOf(document.object))) {
    return false;
  }
  if (!file.is_mounted || !document.is_root) return true;
  return file.config_map == document.config_map && file.key == document.key;
}

std::vector<const Container*> ReadersOf(const Manifest::Document& document,
                                        const Manifest& manifest) {
  std::vector<const Container*> mounting, named, inside;
  for (const Container& container : manifest.containers) {
    if (Reads(container, document)) mounting.push_back(&container);
    const bool is_elsewhere = !document.config_map.empty() && HasKnownFile(container);
    if (container.runs_program && !is_elsewhere) named.push_back(&container);
  }
  const auto& readers = mounting.empty() ? named : mounting;
  // The values of a chart are read by its own container.
  for (const Container* reader : readers) {
    if (reader->object.IsSameAs(document.object)) inside.push_back(reader);
  }
  return inside.empty() ? readers : inside;
}

void RemoveUnreadFiles(Manifest& manifest, Findings& findings) {
  using Document = Manifest::Document;
  const auto& containers = manifest.containers;
  std::set<std::string> named, read;
  for (const Container& container : containers) {
    if (container.file.path.empty()) {
      for (const auto& mounted : container.config_maps) {
        read.insert("the ConfigMap " + mounted.first);
      }
      continue;
    }
    named.insert(container.file.name());
    read.insert(NameOf(container.file));
  }
  const auto has_known_file = [&](const Container& container) {
    return HasKnownFile(container) &&
           (container.runs_program ||
            std::ranges::any_of(manifest.documents, [&](const Document& document) {
              return Reads(container, document);
            }));
  };
  const bool are_known = !containers.empty() && std::ranges::all_of(containers, has_known_file);
  const auto is_unread = [&](const Document& document) {
    if (document.config_map.empty()) return false;
    bool is_mounted = false;
    for (const Container& container : containers) {
      if (Reads(container, document)) return false;
      is_mounted = is_mounted || container.config_maps.contains(document.config_map);
    }
    return is_mounted || are_known;
  };
  const auto remove_if = [&](const auto& condition) {
    std::erase_if(manifest.documents, [&](const Document& document) {
      if (!condition(document)) return false;
      findings.Ignored(document.value.place(),
                       Format("the plugin does not read {}; it is not converted", NameOf(document)),
                       Format("it reads {}; pass only this file to convert it anyway",
                              Truncate(Format("{}", fmt::join(read, " and ")), 300)));
      return true;
    });
  };
  remove_if(is_unread);
  for (const Container& container : containers) {
    // If the volume is not known, the name of the file decides.
    const auto may_read = [&](const Document& document) {
      return document.config_map.empty() ? document.object.IsSameAs(container.object)
                                         : !container.file.is_mounted && Reads(container, document);
    };
    std::set<std::string> names;
    for (const Document& document : manifest.documents) {
      if (may_read(document)) names.insert(document.key);
    }
    if (!container.file.path.empty() && names.contains(container.file.name())) {
      remove_if([&](const Document& document) {
        return may_read(document) && !named.contains(document.key);
      });
    } else if (names.size() > 1 && !NamesDevices(container)) {
      findings.Assumed(container.value.place(),
                       Format("the plugin can read {}; all are converted",
                              Truncate(Format("{}", fmt::join(names, ", ")), 200)),
                       "pass only the file that it reads, or a --config that names it");
    }
    if (container.runs_program || NamesDevices(container) || !HasKnownFile(container)) continue;
    for (const Document& document : manifest.documents) {
      if (document.config_map.empty() || Reads(container, document)) continue;
      findings.Assumed(
          document.value.place(),
          Format("the container in the input does not read {}; it is converted", NameOf(document)),
          Format("if the container is the plugin, pass {} instead",
                 Truncate(Format("{}", fmt::join(read, " and ")), 300)));
    }
  }
}

void ReportMissingFiles(const Manifest& manifest, Findings& findings) {
  std::set<const Manifest::Container*> readers;
  for (const Manifest::Document& document : manifest.documents) {
    const auto of_document = ReadersOf(document, manifest);
    readers.insert(of_document.begin(), of_document.end());
  }
  for (const Manifest::Container& container : manifest.containers) {
    const Manifest::File& file = container.file;
    const bool has_devices = NamesDevices(container) || readers.contains(&container) || file.text;
    if (!container.runs_program || has_devices) continue;
    if (!file.path.empty()) {
      findings.CannotConvert(file.place,
                             Format("{}, which the plugin reads, is not in the input; its devices "
                                    "are not converted",
                                    NameOf(file)),
                             file.hint);
      continue;
    }
    for (const auto& [name, is_in_input] : container.config_maps) {
      if (is_in_input) continue;
      findings.CannotConvert(container.value.place(),
                             Format("the ConfigMap {}, which the plugin mounts, is not in the "
                                    "input; its devices are not converted",
                                    Truncate(name, 100)),
                             HintOnMissing(name, container.object));
    }
  }
}

}  // namespace patchbay
