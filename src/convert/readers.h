#pragma once

#include <vector>

#include "convert/manifest.h"

namespace patchbay {

/// Returns whether a document is in the file of a container, or in a ConfigMap that the container
/// mounts if the file is not known.
bool Reads(const Manifest::Container& container, const Manifest::Document& document);

/// Returns the containers that can read a document: those for which Reads is true, or else those
/// that are recognizably the plugin and whose mounts do not show that they read another ConfigMap;
/// if some of them are in the object of the document, only these.
std::vector<const Manifest::Container*> ReadersOf(const Manifest::Document& document,
                                                  const Manifest& manifest);

/// Removes the texts in ConfigMaps, and in the values of charts, that the plugin does not read.
/// They are findings.
void RemoveUnreadFiles(Manifest& manifest, Findings& findings);

/// Reports the files that the plugin reads, and the ConfigMaps that it mounts, that are not in the
/// input.
void ReportMissingFiles(const Manifest& manifest, Findings& findings);

}  // namespace patchbay
