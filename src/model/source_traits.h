#pragma once

namespace patchbay {

/// The kind of devices that a source finds. Each source has a `static constexpr SourceTraits
/// kTraits`, which determines the variables and keys that a match with this source can have.
struct SourceTraits {
  bool has_nodes;          ///< whether devices can have nodes on the host
  bool has_several_nodes;  ///< whether one device can have more than one, without group_by
  bool reads_sysfs;        ///< whether devices have the variables of their sysfs device
};

}  // namespace patchbay
