#include "config/grammar.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

#include "base/ascii.h"
#include "base/format.h"

namespace patchbay {
namespace {

bool IsField(char c) { return c == Skeleton::kField; }

using Test = bool (*)(char);

/// Which bytes a name may begin with, go on with and end with.
struct Alphabet {
  Test first, inside, last;
  std::string_view words;  ///< the same for people
};

/// A part of a skeleton and where it begins in it.
struct Part {
  std::string_view text;
  std::size_t start = 0;

  Part Before(std::size_t at) const { return {text.substr(0, at), start}; }
  Part Behind(std::size_t at) const { return {text.substr(at + 1), start + at + 1}; }
};

Problem At(const Skeleton& skeleton, std::size_t index, std::string message) {
  const auto& offsets = skeleton.offsets;
  const std::size_t offset = offsets.empty() ? 0 : offsets[std::min(index, offsets.size() - 1)];
  return SyntaxError{offset, std::move(message)};
}

Problem CheckName(const Skeleton& skeleton, Part part, std::string_view what,
                  const Alphabet& alphabet) {
  if (part.text.empty()) return At(skeleton, part.start, format("{} is empty", what));
  for (std::size_t i = 0; i < part.text.size(); ++i) {
    const char c = part.text[i];
    const bool fits = alphabet.inside(c) && (i > 0 || alphabet.first(c)) &&
                      (i + 1 < part.text.size() || alphabet.last(c));
    if (!IsField(c) && !fits) {
      return At(skeleton, part.start + i, format("{} {}", what, alphabet.words));
    }
  }
  return std::nullopt;
}

/// The number of bytes that do not depend on variables.
std::size_t LiteralSize(std::string_view text) {
  return text.size() - static_cast<std::size_t>(std::count_if(text.begin(), text.end(), IsField));
}

/// Labels of lower-case letters, digits and "-", with dots between them.
Problem CheckDnsSubdomain(const Skeleton& skeleton, Part part, std::string_view what) {
  static constexpr Alphabet kLabel = {[](char c) { return IsLower(c) || IsDigit(c); },
                                      [](char c) { return IsLower(c) || IsDigit(c) || c == '-'; },
                                      [](char c) { return IsLower(c) || IsDigit(c); },
                                      "must be a DNS name in lower case"};
  if (LiteralSize(part.text) > 253) {
    return At(skeleton, part.start, format("{} is longer than 253 bytes", what));
  }
  while (true) {
    const auto dot = part.text.find('.');
    if (auto problem = CheckName(skeleton, part.Before(dot), what, kLabel)) return problem;
    if (dot == std::string_view::npos) return std::nullopt;
    part = part.Behind(dot);
  }
}

/// Variables that are never a path of their own.
bool CanHoldPath(std::string_view variable) {
  constexpr std::string_view kNever[] = {"id",   "resource", "node_name", "index", "slot",
                                         "name", "replica",  "major",     "minor"};
  return std::find(std::begin(kNever), std::end(kNever), variable) == std::end(kNever);
}

std::optional<int> ParsePort(std::string_view text) {
  int port = -1;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, port);
  if (text.empty() || !IsDigit(text[0]) || rest != end || error != std::errc() || port > 65535) {
    return std::nullopt;
  }
  return port;
}

bool IsAddress(int family, std::string_view text) {
  in6_addr address;
  return inet_pton(family, std::string(text).c_str(), &address) == 1;
}

}  // namespace

Problem ProblemWithPath(const Skeleton& path) {
  const std::string& text = path.text;
  if (text.empty()) return At(path, 0, "the path is empty");
  const bool begins_with_path = IsField(text[0]) && CanHoldPath(path.names.front());
  if (text[0] != '/' && !begins_with_path) {
    return At(path, 0, "a path must be absolute: begin with \"/\"");
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (IsControl(text[i]) && !IsField(text[i])) {
      return At(path, i, "a path may not hold control characters");
    }
  }
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find('/', start), text.size());
    if (text.substr(start, end - start) == "..") {
      return At(path, start, "a path may not contain \"..\"");
    }
    start = end + 1;
  }
  return std::nullopt;
}

Problem ProblemWithContainerPath(const Skeleton& path) {
  if (auto problem = ProblemWithPath(path)) return problem;
  if (path.text.find_first_not_of("/.") == std::string::npos) {
    return At(path, 0, "this is the root of the container");
  }
  return std::nullopt;
}

Problem ProblemWithEnvName(const Skeleton& name) {
  static constexpr Alphabet kName = {
      [](char c) { return IsLetter(c) || c == '_'; }, [](char c) { return IsAlnum(c) || c == '_'; },
      [](char) { return true; }, "may hold only letters, digits and \"_\", no digit first"};
  return CheckName(name, {name.text}, "the name of an environment variable", kName);
}

bool IsReservedEnv(std::string_view name) {
  return name == "PATH" || name == "LD_LIBRARY_PATH" || name == "LD_PRELOAD";
}

Problem ProblemWithAnnotationKey(const Skeleton& key) {
  static constexpr Alphabet kName = {
      IsAlnum, [](char c) { return IsAlnum(c) || c == '-' || c == '_' || c == '.'; }, IsAlnum,
      "may hold only letters, digits, \"-\", \"_\" and \".\", with a letter or digit at both ends"};
  Part name{key.text};
  if (const auto slash = key.text.find('/'); slash != std::string::npos) {
    if (auto problem = CheckDnsSubdomain(key, name.Before(slash), "the part before the slash")) {
      return problem;
    }
    name = name.Behind(slash);
  }
  if (LiteralSize(name.text) > 63) {
    return At(key, name.start, "the name of an annotation is longer than 63 bytes");
  }
  return CheckName(key, name, "the name of an annotation", kName);
}

Problem ProblemWithCdiName(const Skeleton& name) {
  static constexpr Alphabet kVendor = {
      IsLetter, [](char c) { return IsAlnum(c) || c == '-' || c == '_' || c == '.'; }, IsAlnum,
      "may hold only letters, digits, \"-\", \"_\" and \".\", with a letter first"};
  static constexpr Alphabet kClass = {
      IsLetter, [](char c) { return IsAlnum(c) || c == '-' || c == '_' || c == '.'; }, IsAlnum,
      "may hold only letters, digits, \"-\", \"_\" and \".\", with a letter first"};
  static constexpr Alphabet kDevice = {
      IsAlnum, [](char c) { return IsAlnum(c) || c == '-' || c == '_' || c == '.' || c == ':'; },
      IsAlnum,
      "may hold only letters, digits, \"-\", \"_\", \".\" and \":\", with a letter or digit at "
      "both ends"};
  const Part whole{name.text};
  const auto equals = name.text.find('=');
  const auto slash = name.text.find('/');
  if (slash == std::string::npos || equals == std::string::npos || equals < slash) {
    return At(name, 0, "a CDI device is named vendor/class=name");
  }
  const Part kind = whole.Before(equals);
  if (auto problem = CheckName(name, kind.Before(slash), "the vendor", kVendor)) return problem;
  if (auto problem = CheckName(name, kind.Behind(slash), "the class", kClass)) return problem;
  return CheckName(name, whole.Behind(equals), "the name of a CDI device", kDevice);
}

std::optional<std::string> NormalisedPermissions(std::string_view text) {
  std::string normalised;
  for (const char letter : std::string_view("rwm")) {
    if (text.find(letter) != std::string_view::npos) normalised.push_back(letter);
  }
  if (text.empty() || normalised.size() != text.size()) return std::nullopt;
  return normalised;
}

std::optional<std::string> NormalisedListenAddress(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos || !ParsePort(text.substr(colon + 1))) return std::nullopt;
  const std::string_view host = text.substr(0, colon);
  if (host.empty()) return "[::]" + std::string(text);
  const bool bracketed = host.size() > 2 && host.starts_with('[') && host.ends_with(']');
  const bool valid =
      bracketed ? IsAddress(AF_INET6, host.substr(1, host.size() - 2)) : IsAddress(AF_INET, host);
  if (!valid) return std::nullopt;
  return std::string(text);
}

}  // namespace patchbay
