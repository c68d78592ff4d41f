#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostics.h"

namespace patchbay {

/// Comments in front of the table that they belong to. They may contain text of other programs. In
/// the structs below, each string is the value of the key with the same name, and `paths` that of
/// `path`; an empty string means that the key is absent.
using Notes = std::vector<std::string>;

/// Adds a comment, unless it is there.
void AddOnce(std::string note, Notes& notes);

struct NewNode {
  Notes notes = {};
  std::string host_path = {};
  std::string container_path = {};
  std::string permissions = "rw";
  bool optional = false;
  bool operator==(const NewNode&) const = default;
};

struct NewUdev {
  std::string subsystem = {};
  std::string driver = {};
  std::vector<std::pair<std::string, std::string>> properties = {}, attributes = {};
};

struct NewMatch {
  Notes notes = {};
  std::vector<std::string> paths = {};  ///< globs; the source is the first of those that are set
  std::string regex = {};
  std::vector<std::string> usb = {};
  std::string serial = {};
  std::string usb_port = {};
  std::string pci = {};
  std::string pci_address = {};
  NewUdev udev = {};
  bool allow_mounted = false;
  std::string type = {};
  std::string group_by = {};
  bool together = false;
  std::string id = {};
  std::vector<std::string> require = {};
  int max_devices = 0;              ///< 0: no limit
  std::vector<NewNode> nodes = {};  ///< instead of those of the resource, if there are any
  bool is_comment = false;  ///< its lines are comments, also those of a resource without other ones
  std::vector<NewMatch> alternatives = {};  ///< to use instead; comments behind it
  SourceLocation place = {};                ///< in the input, for diagnostics
};

struct NewMount {
  Notes notes = {};
  std::string host_path = {};
  std::string container_path = {};
  bool read_only = true;
  bool optional = false;
  bool operator==(const NewMount&) const = default;
};

struct NewResource {
  Notes notes = {};
  std::string name = {};
  int replicas = 1;
  std::vector<std::string> on_nodes = {};
  std::vector<NewMatch> matches = {};
  std::vector<NewNode> nodes = {};
  std::vector<NewMount> mounts = {};
  std::vector<std::pair<std::string, std::string>> env = {};
};

/// A part of the input that was not converted, which becomes a comment at the end.
struct Refusal {
  std::string what = {};
  std::vector<Diagnostic> reasons = {};
  std::string text = {};  ///< the part, from the input or as TOML
};
inline constexpr std::size_t kMaxRefusedText = 2000;  ///< bytes of a text from the input

struct NewFile {
  Notes notes = {};
  std::vector<NewResource> resources = {};
  std::vector<Refusal> refused = {};
  Notes end_notes = {};  ///< at the end of the file
};

/// Returns the file as TOML. Omits `replicas` and `device_node` if they have their default values.
/// Values and notes are escaped, so that no text can leave its string or comment. Does not validate
/// the values.
std::string WriteToml(const NewFile& file);

/// Returns a template that renders `text` literally: its braces are doubled.
std::string EscapedForTemplate(const std::string& text);

}  // namespace patchbay
