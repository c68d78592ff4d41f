#include "model/resource_name.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/format.h"

namespace patchbay {
namespace {

std::optional<std::string> ProblemWithLabel(std::string_view label) {
  if (label.empty()) return "the part before the slash has an empty label";
  if (label.size() > 63) return "a label before the slash is longer than 63 bytes";
  const auto fits = [](char c) { return IsLower(c) || IsDigit(c) || c == '-'; };
  if (!std::all_of(label.begin(), label.end(), fits) || label.front() == '-' ||
      label.back() == '-') {
    return Format("\"{}\" before the slash is not a lower-case DNS label", label);
  }
  return std::nullopt;
}

std::optional<std::string> ProblemWithPrefix(std::string_view prefix) {
  if (prefix.empty()) return "there is no domain before the slash";
  if (prefix.size() > 244) return "the domain before the slash is longer than 244 bytes";
  while (true) {
    const auto dot = prefix.find('.');
    if (auto problem = ProblemWithLabel(prefix.substr(0, dot))) return problem;
    if (dot == std::string_view::npos) return std::nullopt;
    prefix.remove_prefix(dot + 1);
  }
}

std::optional<std::string> ProblemWithBaseName(std::string_view base) {
  if (base.empty()) return "there is no name after the slash";
  if (base.size() > 63) return "the name after the slash is longer than 63 bytes";
  const auto fits = [](char c) { return IsAlnum(c) || c == '-' || c == '_' || c == '.'; };
  if (!std::all_of(base.begin(), base.end(), fits)) {
    return "the name after the slash can contain only letters, digits, \"-\", \"_\" and \".\"";
  }
  if (!IsAlnum(base.front()) || !IsAlnum(base.back())) {
    return "the name after the slash must begin and end with a letter or a digit";
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> ProblemWithResourceName(std::string_view name) {
  if (std::count(name.begin(), name.end(), '/') != 1) {
    return "a resource name must be a domain, a slash and a name";
  }
  if (name.find("kubernetes.io/") != std::string_view::npos) {
    return "names below kubernetes.io are reserved for Kubernetes";
  }
  if (name.starts_with("requests.")) return "a resource name must not begin with \"requests.\"";
  const auto slash = name.find('/');
  if (auto problem = ProblemWithPrefix(name.substr(0, slash))) return problem;
  return ProblemWithBaseName(name.substr(slash + 1));
}

}  // namespace patchbay
