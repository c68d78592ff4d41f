#include "discovery/mount_table.h"

#include <charconv>
#include <utility>

namespace patchbay {
namespace {

/// Removes the text before the next `separator`, and that, from `rest`, and returns it.
std::string_view NextPart(std::string_view& rest, char separator) {
  const auto end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return part;
}

/// Replaces the escape sequences of the kernel: a space is \040.
std::string Unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned code = 0;
    const char* const digits = text.data() + i + 1;
    const bool is_escape = text[i] == '\\' && text.size() - i > 3 &&
                           std::from_chars(digits, digits + 3, code, 8).ptr == digits + 3 &&
                           code < 0x100;
    plain += is_escape ? static_cast<char>(code) : text[i];
    if (is_escape) i += 3;
  }
  return plain;
}

bool ParseDeviceNumber(std::string_view text, MountEntry& mount) {
  const char* const end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, mount.major);
  if (major.ec != std::errc() || major.ptr == end || *major.ptr != ':') return false;
  const auto minor = std::from_chars(major.ptr + 1, end, mount.minor);
  return minor.ec == std::errc() && minor.ptr == end;
}

}  // namespace

std::vector<MountEntry> ParseMountInfo(std::string_view text) {
  std::vector<MountEntry> mounts;
  while (!text.empty()) {
    std::string_view line = NextPart(text, '\n');
    // "36 35 98:0 /root /target rw,noatime master:1 - ext3 /dev/sda2 rw"
    NextPart(line, ' ');
    NextPart(line, ' ');
    MountEntry mount;
    if (!ParseDeviceNumber(NextPart(line, ' '), mount)) continue;
    const std::string_view root = NextPart(line, ' ');
    const std::string_view target = NextPart(line, ' ');
    while (!line.empty() && NextPart(line, ' ') != "-") {
    }
    const std::string_view type = NextPart(line, ' ');
    const std::string_view source = NextPart(line, ' ');
    const bool is_on_disk =
        mount.major != 0 || type == "zfs" || source.find("/dev/") != std::string_view::npos;
    if (!is_on_disk) continue;
    mount.root = Unescaped(root);
    mount.target = Unescaped(target);
    mount.type = type;
    mount.source = Unescaped(source);
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

std::vector<std::string> ParseSwaps(std::string_view text) {
  std::vector<std::string> paths;
  NextPart(text, '\n');  // the headings
  while (!text.empty()) {
    std::string_view line = NextPart(text, '\n');
    if (!line.empty()) paths.push_back(Unescaped(line.substr(0, line.find_first_of(" \t"))));
  }
  return paths;
}

}  // namespace patchbay
