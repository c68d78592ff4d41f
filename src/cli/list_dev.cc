#include "cli/list_dev.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "base/format.h"

namespace patchbay {
namespace {

constexpr std::string_view kDev = "/dev";
constexpr int kDeepest = 10;

class DevWalk {
 public:
  DevWalk(const HostRoot& host, std::size_t max_names, Findings& findings)
      : host_(host), max_names_(max_names), findings_(findings) {}

  Result<std::vector<SeenName>> Run() &&;

 private:
  Status Directory(const std::string& directory, int depth);
  void Entry(const std::string& path, FileType type, int depth);
  bool IsOnDev(const HostNode& node) const;

  const HostRoot& host_;
  const std::size_t max_names_;
  Findings& findings_;
  std::uint64_t file_system_ = 0;
  std::vector<SeenName> names_;
};

/// Returns whether a directory is on the file system of /dev: mount points are not.
bool DevWalk::IsOnDev(const HostNode& node) const {
  const auto file_system = host_.FileSystemOf(node);
  return file_system && *file_system == file_system_;
}

void DevWalk::Entry(const std::string& path, FileType type, int depth) {
  HostNode node{path, type, 0, 0};
  if (type == FileType::kSymlink) {
    auto resolved = host_.Resolve(path);
    if (!resolved) return;  // a dangling link
    node = std::move(*resolved);
  }
  const bool is_directory = node.type == FileType::kDirectory;
  const bool is_device = node.type == FileType::kCharacter || node.type == FileType::kBlock;
  if (!is_device && !(is_directory && IsOnDev(node))) return;
  names_.push_back({path.substr(kDev.size() + 1), is_directory});
  if (type != FileType::kDirectory || depth == kDeepest) return;
  const auto listed = Directory(path, depth + 1);
  if (listed || listed.error().kind == ErrorKind::kNotFound) return;
  findings_.Assumed({path, 0, 0}, listed.error().message,
                    "its entries count as missing; convert as a user that can read it");
}

Status DevWalk::Directory(const std::string& directory, int depth) {
  const auto entries = TRY(host_.List(directory, [](const std::string&) { return true; }));
  for (const HostEntry& entry : entries) {
    if (names_.size() > max_names_) break;
    Entry(directory + "/" + entry.name, entry.type, depth);
  }
  return {};
}

Result<std::vector<SeenName>> DevWalk::Run() && {
  const HostNode dev = TRY(host_.Resolve(kDev));
  file_system_ = TRY(host_.FileSystemOf(dev));
  TRY(Directory(std::string(kDev), 0));
  if (names_.size() > max_names_) {
    names_.resize(max_names_);
    findings_.Assumed({std::string(kDev), 0, 0},
                      Format("more than {} names; the rest is omitted", max_names_),
                      "check if devices are missing in the result, and add them");
  }
  std::sort(names_.begin(), names_.end(),
            [](const SeenName& a, const SeenName& b) { return a.name < b.name; });
  return std::move(names_);
}

}  // namespace

Result<std::vector<SeenName>> ListDev(const HostRoot& host, std::size_t max_names,
                                      Findings& findings) {
  return DevWalk(host, max_names, findings).Run();
}

}  // namespace patchbay
