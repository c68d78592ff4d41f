#include "cdi/cdi_directory.h"

#include <algorithm>

#include "base/format.h"

namespace patchbay {
namespace {

constexpr std::string_view kCure =
    "; CDI files need a writable directory of the host that the container runtime reads: enable "
    "the component \"cdi\", or \"dra\" for claims, or set cdi_dir in [daemon]";

}  // namespace

std::string CdiFileName(std::string_view kind, std::string_view id) {
  std::string name = Format("{}_{}.json", kind, id);
  std::ranges::replace(name, '/', '-');
  return name;
}

CdiDirectory::CdiDirectory(std::string path) : FileDirectory(std::move(path), {.cure = kCure}) {}

Status CdiDirectory::Write(const std::string& name, const CdiSpec& spec) const {
  return WriteText(name, TRY(CdiToJson(spec)), true);
}

Result<CdiSpec> CdiDirectory::Read(const std::string& name) const {
  auto spec = CdiFromJson(TRY(ReadText(name, kMaxCdiBytes)));
  if (!spec) spec.error().message = Format("{}: {}", PathOf(name), spec.error().message);
  return spec;
}

Result<std::vector<std::string>> CdiDirectory::List(std::string_view kind) const {
  std::string begin = CdiFileName(kind, "");
  const std::string_view end = ".json";
  begin.resize(begin.size() - end.size());
  std::vector<std::string> names;
  for (auto& [name, stamp] : TRY(FileDirectory::List(begin, end)).files) names.push_back(name);
  return names;
}

}  // namespace patchbay
