#include "sim/kubelet/registration_rules.h"

#include <algorithm>
#include <filesystem>

#include "base/ascii.h"
#include "base/format.h"

namespace patchbay {
namespace {

constexpr std::size_t kMaxPrefix = 253;
constexpr std::size_t kMaxName = 63;

bool IsOfLabel(char c) { return IsLower(c) || IsDigit(c); }

bool IsLabel(std::string_view label) {
  return !label.empty() && IsOfLabel(label.front()) && IsOfLabel(label.back()) &&
         std::all_of(label.begin(), label.end(), [](char c) { return IsOfLabel(c) || c == '-'; });
}

bool IsSubdomain(std::string_view text) {
  if (text.size() > kMaxPrefix) return false;
  while (true) {
    const std::size_t dot = text.find('.');
    if (!IsLabel(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

bool IsName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxName && IsAlnum(name.front()) &&
         IsAlnum(name.back()) && std::all_of(name.begin(), name.end(), [](char c) {
           return IsAlnum(c) || c == '-' || c == '_' || c == '.';
         });
}

bool IsQualifiedName(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return IsName(text);
  return IsSubdomain(text.substr(0, slash)) && IsName(text.substr(slash + 1));
}

}  // namespace

bool IsExtendedResourceName(std::string_view name) {
  const bool native = name.find('/') == std::string_view::npos ||
                      name.find("kubernetes.io/") != std::string_view::npos;
  if (native || name.starts_with("requests.")) return false;
  return IsQualifiedName(Format("requests.{}", name));
}

Status CheckRegister(std::string_view version, std::string_view resource) {
  if (version != "v1beta1") {
    return Fail(ErrorKind::kInvalid,
                Format("requested API version \"{}\" is not supported by kubelet. Supported "
                       "version is [\"v1beta1\"]",
                       version));
  }
  if (!IsExtendedResourceName(resource)) {
    return Fail(ErrorKind::kInvalid, Format("the ResourceName \"{}\" is invalid", resource));
  }
  return {};
}

std::string JoinEndpoint(const std::string& directory, const std::string& endpoint) {
  std::string path = std::filesystem::path(directory + "/" + endpoint).lexically_normal();
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace patchbay
