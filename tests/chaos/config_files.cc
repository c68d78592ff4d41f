#include "chaos/config_files.h"

#include <filesystem>

#include "base/format.h"

namespace patchbay::test {

ConfigFiles::ConfigFiles(TempTree& tree, std::size_t kind, std::string settings)
    : tree_(tree), kind_(kind), settings_(std::move(settings)), map_(tree.path("map")) {
  for (const char* directory : {"etc", "etc.new"}) {
    tree_.Dir(directory);
    if (IsDirectory()) tree_.File(Format("{}/daemon.toml", directory), settings_);
  }
  tree_.Link("link", IsMap() ? "map" : directory_);
}

bool ConfigFiles::IsMap() const { return kind_ % 2 == 1; }
bool ConfigFiles::IsDirectory() const { return kind_ >= 2; }

std::string ConfigFiles::path() const {
  return tree_.path(IsDirectory() ? "link" : "link/resources.toml");
}

std::string ConfigFiles::kind() const {
  return Format("{} {}", IsDirectory() ? "a directory" : "a file", IsMap() ? "of a ConfigMap" : "");
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
  switch (random.Below(4)) {
    case 0: tree_.File(file(), Complete(resources)); return "written in place";
    case 1:
      MoveAway();
      tree_.File(file(), Complete(resources));
      tree_.Link("link.new", directory_);
      std::filesystem::rename(tree_.path("link.new"), tree_.path("link"));
      return "written elsewhere, where the link leads now";
    case 2: tree_.Remove(file()); [[fallthrough]];
    default:
      tree_.File(file() + "~", Complete(resources));
      std::filesystem::rename(tree_.path(file() + "~"), tree_.path(file()));
      return "renamed over";
  }
}

/// Selects the directory that is not read now for the next write.
void ConfigFiles::MoveAway() { directory_ = directory_ == "etc" ? "etc.new" : "etc"; }

std::string ConfigFiles::WriteHalf(const std::string& resources, Random& random) {
  if (IsMap()) return Write(resources, random);
  FinishHalf();
  const std::string text = Complete(resources);
  const std::size_t cut = random.Below(text.size());
  half_.emplace(tree_.path(file()), std::ios::binary);
  *half_ << text.substr(0, cut) << std::flush;
  rest_ = text.substr(cut);
  return Format("{} bytes of {}", cut, text.size());
}

void ConfigFiles::FinishHalf() {
  if (half_) *half_ << rest_;
  half_.reset();
}

}  // namespace patchbay::test
