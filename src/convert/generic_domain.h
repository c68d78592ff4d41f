#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "config/toml_writer.h"
#include "convert/config_maps.h"
#include "convert/diagnostics.h"
#include "convert/manifest.h"

namespace patchbay {

/// The key with the plugin's configuration in the config.yaml of MicroShift.
inline constexpr std::string_view kMicroShift = "genericDevicePlugin";

/// The domain of devices, and where it comes from.
struct Domain {
  std::string name;  ///< if it is not known, the text that stands for it
  SourceLocation place;
  std::string hint = {};  ///< how to make it known; empty if it is
};

/// Finds the domain of devices that have none from the caller and no --domain.
class GenericDomains {
 public:
  /// All must outlive the object.
  GenericDomains(const Manifest& manifest, YamlBudget& budget, Findings& findings)
      : manifest_(manifest), budget_(budget), findings_(findings), config_maps_(manifest, budget) {}

  /// Returns the domain of the devices of a container. They are in the document, or, if it is null,
  /// in the arguments at `place`. Adds a finding and a note if the domain is an assumption.
  Domain Find(const Manifest::Container& container, const Manifest::Document* document,
              const SourceLocation& place, Notes& notes);

 private:
  std::set<std::optional<std::string>> InFiles(const Manifest::Container& container);

  const Manifest& manifest_;
  YamlBudget& budget_;
  Findings& findings_;
  ConfigMaps config_maps_;
  bool has_assumed_ = false;  ///< a default
};

}  // namespace patchbay
