#include "config/path_clashes.h"

#include <string>
#include <utility>

#include "base/format.h"
#include "base/path.h"
#include "config/path_checks.h"
#include "model/template_shape.h"

namespace patchbay {
namespace {

/// The maximum number of paths that are compared for one match; Allocate compares all.
constexpr std::size_t kMaxCompared = 5000;

/// Stands for the unknown part of a matched path.
constexpr std::string_view kAnyName = "\x01path:\x01";
static_assert(kAnyName.front() == TemplateShape::kField);

/// Returns the text of a template with each variable as FindPathClash expects it. `matched`
/// replaces a {path} at the beginning.
std::string WithFields(const Template& compiled, const std::string& matched) {
  std::string text;
  const auto& fields = compiled.fields();
  const TemplateShape shape = ShapeOf(compiled);
  auto field = fields.begin();
  for (const char c : shape.text) {
    if (c != TemplateShape::kField) {
      text.push_back(c);
      continue;
    }
    if (text.empty() && field->name == "path" && field->spec.empty()) {
      text = matched;
    } else {
      text.append(Format("{0}{1}:{2}{0}", TemplateShape::kField, field->name, field->spec));
    }
    ++field;
  }
  return text;
}

/// Returns a source in its shortest form, or the directory before its first variable.
std::string KnownSource(const std::string& source) {
  const auto field = source.find(TemplateShape::kField);
  if (field == std::string::npos) return FollowLink("/", source);
  return FollowLink("/", source.substr(0, source.rfind('/', field) + 1)) + "/";
}

/// Returns the paths that the match can find: literal ones, and directories with a variable.
std::vector<std::string> MatchedPaths(const MatchSpec& match) {
  const std::string anything(kAnyName);
  std::vector<std::string> paths;
  if (const auto* globs = std::get_if<PathSource>(&match.source)) {
    for (const Glob& glob : globs->globs) {
      paths.push_back(OnlyPath(glob).value_or(glob.fixed_directory() + anything));
    }
  } else if (const auto* regex = std::get_if<RegexSource>(&match.source)) {
    paths.push_back(regex->regex.fixed_directory() + anything);
  } else if (std::holds_alternative<CommandSource>(match.source)) {
    paths.push_back("/" + anything);
  } else if (CanHaveNodes(match)) {
    paths.push_back("/dev/" + anything);  // of sysfs
  }
  return paths;
}

/// Returns one text for all of the paths: the only one, or the directory of all with a variable.
std::string AnyOf(const std::vector<std::string>& matched) {
  if (matched.size() == 1) return matched.front();
  std::string directory =
      matched.empty() ? "/" : KnownSource(matched.front() + std::string(kAnyName));
  for (const std::string& path : matched) {
    while (!path.starts_with(directory)) {
      directory.resize(directory.rfind('/', directory.size() - 2) + 1);
    }
  }
  return directory + std::string(kAnyName);
}

/// Reports at the path that is further down in the file.
void Report(const ConfiguredPath& one, const ConfiguredPath& other, ClashKind kind,
            Reporter& reporter) {
  const auto described = [](const ConfiguredPath& path) {
    return Format("the {} at {} in the container",
                  path.kind == PathKind::kNode ? "device node" : "mount", path.container.text());
  };
  constexpr std::string_view kConsequences[] = {
      "has the path of", "is created on the host, because it is below", "cannot be below"};
  const bool one_is_later = one.place.line > other.place.line;
  reporter.Report(Code::kContainerPathClash, (one_is_later ? one : other).place,
                  Format("{} {} {} (see {}), so the allocation fails", described(other),
                         kConsequences[static_cast<std::size_t>(kind)], described(one),
                         Where((one_is_later ? other : one).place)),
                  "use another container_path for one of the two");
}

}  // namespace

bool ReportPathClash(std::span<const ConfiguredPath> paths, const MatchSpec& match,
                     const void* group, Reporter& reporter) {
  struct ComparedPath {
    std::string path;
    std::string source;
    const ConfiguredPath* of;
  };
  std::vector<ComparedPath> texts;
  const std::vector<std::string> matched = MatchedPaths(match);
  const std::string any = AnyOf(matched);
  for (const ConfiguredPath& path : paths) {
    if (path.group != nullptr && path.group != group) continue;
    // A matched file or directory is not given as a device node.
    if (!path.host && match.type != NodeType::kDevice) continue;
    const auto& fields = path.container.fields();
    const bool is_by_path = !fields.empty() && path.container.text().starts_with("{path}");
    for (const std::string& at : is_by_path ? matched : std::vector<std::string>{""}) {
      if (texts.size() == kMaxCompared) break;
      const std::string& own = is_by_path ? at : any;
      texts.push_back({WithFields(path.container, at),
                       KnownSource(path.host ? WithFields(*path.host, own) : own), &path});
    }
  }
  std::vector<ContainerPath> compared;
  compared.reserve(texts.size());
  for (const ComparedPath& text : texts) {
    compared.push_back({text.path, text.of->kind, text.source});
  }
  const auto clash = FindPathClash(compared);
  if (!clash) return false;
  Report(*texts[clash->one].of, *texts[clash->other].of, clash->kind, reporter);
  return true;
}

}  // namespace patchbay
