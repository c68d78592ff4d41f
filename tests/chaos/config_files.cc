#include "chaos/config_files.h"

#include <filesystem>

#include "base/format.h"

namespace patchbay::test {

ConfigFiles::ConfigFiles(TempTree& tree, std::size_t kind, std::string settings)
    : tree_(tree),
      kind_(kind),
      settings_(std::move(settings)),
      map_(tree.path("map")),
      file_(tree.path("etc/resources.toml")) {
  tree_.Dir("etc");
  if (IsDirectory()) tree_.File("etc/daemon.toml", settings_);
  tree_.Link("link", IsMap() ? "map" : "etc");
}

bool ConfigFiles::IsMap() const { return kind_ % 2 == 1; }
bool ConfigFiles::IsDirectory() const { return kind_ >= 2; }

std::string ConfigFiles::path() const {
  return tree_.path(IsDirectory() ? "link" : "link/resources.toml");
}

std::string ConfigFiles::kind() const {
  return format("{} {}", IsDirectory() ? "a directory" : "a file", IsMap() ? "of a ConfigMap" : "");
}

std::string ConfigFiles::Complete(const std::string& resources) const {
  return IsDirectory() ? resources : settings_ + resources;
}

std::string ConfigFiles::Write(const std::string& resources, Random& random) {
  FinishHalf();
  if (IsMap()) {
    ConfigMap::Files files{{"resources.toml", Complete(resources)}};
    if (IsDirectory()) files["daemon.toml"] = settings_;
    map_.Write(files);
    return "swapped";
  }
  switch (random.Below(3)) {
    case 0: tree_.File("etc/resources.toml", Complete(resources)); return "written in place";
    case 1: std::filesystem::remove(file_); [[fallthrough]];
    default:
      tree_.File("etc/resources.toml~", Complete(resources));
      std::filesystem::rename(file_ + "~", file_);
      return "renamed over";
  }
}

std::string ConfigFiles::WriteHalf(const std::string& resources, Random& random) {
  if (IsMap()) return Write(resources, random);
  FinishHalf();
  const std::string text = Complete(resources);
  const std::size_t cut = random.Below(text.size());
  half_.emplace(file_, std::ios::binary);
  *half_ << text.substr(0, cut) << std::flush;
  rest_ = text.substr(cut);
  return format("{} bytes of {}", cut, text.size());
}

void ConfigFiles::FinishHalf() {
  if (half_) *half_ << rest_;
  half_.reset();
}

}  // namespace patchbay::test
