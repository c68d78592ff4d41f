#pragma once

#include <string>
#include <utility>
#include <vector>

namespace patchbay {

/// Comments in front of the table that they belong to. They may contain text of other programs. In
/// the structs below, each string is the value of the key with the same name; an empty string means
/// that the key is absent.
using Notes = std::vector<std::string>;

struct NewMatch {
  Notes notes = {};
  std::string path = {};  ///< a glob; exactly one of path, regex and usb is set
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

/// Returns the file as TOML. Omits `replicas` and `device_node` if they have their default values.
/// Values and notes are escaped, so that no text can leave its string or comment. Does not validate
/// the values.
std::string WriteToml(const NewFile& file);

/// Returns a template that renders `text` literally: its braces are doubled.
std::string EscapedForTemplate(const std::string& text);

}  // namespace patchbay
