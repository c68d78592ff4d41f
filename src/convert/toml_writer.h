#pragma once

#include <string>
#include <utility>
#include <vector>

namespace patchbay {

/// A configuration that is to be written: texts as they will stand in the file, most of them
/// optional, an empty one being absent. A note becomes a comment in front of what it belongs to; it
/// may hold foreign text.
using Notes = std::vector<std::string>;

struct NewMatch {
  Notes notes = {};
  std::string path = {};  ///< a glob; of path, regex and usb exactly one
  std::string regex = {};
  std::string usb = {};
  std::string serial = {};
  std::string udev_subsystem = {};
  std::string type = {};
  std::string group_by = {};
  std::string id = {};
  std::vector<std::string> require = {};
};

struct NewNode {
  Notes notes = {};
  std::string host_path = {};
  std::string container_path = {};
  std::string permissions = "rw";
  bool optional = false;
  bool operator==(const NewNode&) const = default;
};

struct NewMount {
  Notes notes = {};
  std::string host_path = {};
  std::string container_path = {};
  bool read_only = true;
  bool operator==(const NewMount&) const = default;
};

struct NewResource {
  Notes notes = {};
  std::string name = {};
  int replicas = 1;
  std::vector<NewMatch> matches = {};
  std::vector<NewNode> nodes = {};
  std::vector<NewMount> mounts = {};
  std::vector<std::pair<std::string, std::string>> env = {};
};

struct NewFile {
  Notes notes = {};
  std::vector<NewResource> resources = {};
};

/// The file in TOML. What Patchbay takes as the default is left out. No text breaks out of its
/// string or comment; whether it means anything is for the loader to say.
std::string WriteToml(const NewFile& file);

/// `text` with its braces doubled, as templates want it.
std::string EscapedForTemplate(const std::string& text);

}  // namespace patchbay
