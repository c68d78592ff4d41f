#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>

namespace patchbay::test {

/// A mounted ConfigMap, written as the kubelet's AtomicWriter writes it: the files are in a
/// separate directory, which is replaced by renaming a link.
class ConfigMap {
 public:
  using Files = std::map<std::string, std::string>;  ///< text by name

  explicit ConfigMap(std::string directory) : directory_(std::move(directory)) {
    std::filesystem::create_directories(directory_);
  }

  std::string directory() const { return directory_; }
  std::string path(const std::string& name) const { return directory_ / name; }

  void Write(const Files& files) {
    namespace fs = std::filesystem;
    const std::string last = std::exchange(version_, "..2026_11_20_12_00_00." + Number());
    fs::create_directory(directory_ / version_);
    for (const auto& [name, text] : files) {
      std::ofstream(directory_ / version_ / name, std::ios::binary) << text;
    }
    fs::create_symlink(version_, directory_ / "..data_tmp");
    fs::rename(directory_ / "..data_tmp", directory_ / "..data");
    for (const auto& [name, text] : files) {
      if (!files_.contains(name)) fs::create_symlink("..data/" + name, directory_ / name);
    }
    for (const auto& [name, text] : files_) {
      if (!files.contains(name)) fs::remove(directory_ / name);
    }
    if (!last.empty()) fs::remove_all(directory_ / last);
    files_ = files;
  }

 private:
  std::string Number() { return std::to_string(++versions_); }

  const std::filesystem::path directory_;
  std::string version_;
  unsigned versions_ = 100'000'000;
  Files files_;
};

}  // namespace patchbay::test
