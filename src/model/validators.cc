#include "model/validators.h"

#include <arpa/inet.h>

#include <algorithm>

#include "base/ascii.h"
#include "base/escape.h"
#include "base/format.h"
#include "base/number.h"
#include "base/path.h"

// The same functions check a shape twice: at load, with one byte for each value, and rendered, with
// the values. The check at load finds errors that do not depend on the values; the check after
// rendering does not rely on it. All rules are allow-lists except two: the reserved environment
// variables, because the variables that programs use cannot be listed, and "all" in CDI names.

namespace patchbay {
namespace {

bool IsField(char c) { return c == TemplateShape::kField; }

using Test = bool (*)(char);

/// The bytes that a name can start with, contain and end with.
struct Alphabet {
  Test first, inside, last;
  std::string_view words;  ///< for messages
};

/// A part of a shape and its position.
struct ShapePart {
  std::string_view text;
  std::size_t start = 0;

  ShapePart Before(std::size_t at) const { return {text.substr(0, at), start}; }
  ShapePart After(std::size_t at) const { return {text.substr(at + 1), start + at + 1}; }
};

Problem At(const TemplateShape& shape, std::size_t index, std::string message) {
  const auto& offsets = shape.offsets;
  const std::size_t offset = offsets.empty() ? index : offsets[std::min(index, offsets.size() - 1)];
  return SyntaxError{offset, std::move(message)};
}

bool IsKnown(const TemplateShape& shape, const Template::Span& field) {
  return field.begin == field.end || shape.text[field.begin] != TemplateShape::kField;
}

std::string_view ValueOf(const TemplateShape& shape, const Template::Span& field) {
  return std::string_view(shape.text).substr(field.begin, field.end - field.begin);
}

/// Returns whether a variable is in the text from `start` to `end`, or next to it.
bool HoldsField(const TemplateShape& shape, std::size_t start, std::size_t end) {
  return std::any_of(shape.fields.begin(), shape.fields.end(), [&](const Template::Span& field) {
    return field.begin <= end && field.end >= start;
  });
}

/// Returns whether the value cannot contain text from a device. An ID can contain a serial number.
bool IsFromConfiguration(const Template::Span& field) {
  return field.origin == Origin::kConfiguration && field.name != "id";
}

Problem CheckName(const TemplateShape& shape, ShapePart part, std::string_view what,
                  const Alphabet& alphabet) {
  if (part.text.empty()) return At(shape, part.start, Format("{} is empty", what));
  for (std::size_t i = 0; i < part.text.size(); ++i) {
    const char c = part.text[i];
    const bool fits = alphabet.inside(c) && (i > 0 || alphabet.first(c)) &&
                      (i + 1 < part.text.size() || alphabet.last(c));
    if (!IsField(c) && !fits) {
      return At(shape, part.start + i, Format("{} {}", what, alphabet.words));
    }
  }
  return std::nullopt;
}

/// Returns the number of bytes outside of variables.
std::size_t LiteralSize(std::string_view text) {
  return text.size() - static_cast<std::size_t>(std::count_if(text.begin(), text.end(), IsField));
}

/// Checks a DNS subdomain: labels of lowercase letters, digits and "-", separated by dots.
Problem CheckDnsSubdomain(const TemplateShape& shape, ShapePart part, std::string_view what) {
  static constexpr Alphabet kLabel = {[](char c) { return IsLower(c) || IsDigit(c); },
                                      [](char c) { return IsLower(c) || IsDigit(c) || c == '-'; },
                                      [](char c) { return IsLower(c) || IsDigit(c); },
                                      "must be a DNS name in lower case"};
  if (LiteralSize(part.text) > 253) {
    return At(shape, part.start, Format("{} is longer than 253 bytes", what));
  }
  while (true) {
    const auto dot = part.text.find('.');
    if (auto problem = CheckName(shape, part.Before(dot), what, kLabel)) return problem;
    if (dot == std::string_view::npos) return std::nullopt;
    part = part.After(dot);
  }
}

constexpr std::size_t kMaxComponent = 255;     // NAME_MAX
constexpr std::size_t kMaxInterfaceName = 15;  // IFNAMSIZ - 1

/// Returns whether text from a device can contain the byte in a path. An allow-list.
bool IsSafeInPath(char c) {
  return IsAlnum(c) || std::string_view("._:@+,=~%#- ").find(c) != std::string_view::npos;
}

bool IsDots(std::string_view component) { return component == "." || component == ".."; }

bool IsSafeComponent(std::string_view text) {
  return !text.empty() && text.size() <= kMaxComponent && !IsDots(text) &&
         std::all_of(text.begin(), text.end(), IsSafeInPath);
}

/// Checks the component from `start` to `end`.
Problem CheckComponent(const TemplateShape& path, std::size_t start, std::size_t end) {
  const std::string_view component = std::string_view(path.text).substr(start, end - start);
  if (component == "..") return At(path, start, "a path cannot contain \"..\"");
  if (!component.empty() && component != "." && component.size() <= kMaxComponent) {
    return std::nullopt;
  }
  if (!HoldsField(path, start, end)) return std::nullopt;  // literal text is not restricted
  if (component.empty()) {
    // "/host/{path}": the slash before the variable and the first one of its value are merged.
    const bool joins = std::any_of(path.fields.begin(), path.fields.end(), [&](const auto& field) {
      return field.begin == end && field.end > end && field.origin == Origin::kNode;
    });
    if (joins) return std::nullopt;
    return At(path, start, "a variable must not make a component of a path empty");
  }
  return At(path, start,
            component == "."
                ? "a variable must not make a component of a path \".\""
                : Format("a component of a path is limited to {} bytes", kMaxComponent));
}

/// The files below /proc over which runc permits a mount (libcontainer/rootfs_linux.go): those that
/// lxcfs emulates, and two settings. Newer versions permit the last one.
constexpr std::string_view kMountableInProc[] = {
    "/proc/cpuinfo",
    "/proc/diskstats",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/net/dev",
    "/proc/slabinfo",
    "/proc/stat",
    "/proc/swaps",
    "/proc/sys/kernel/ns_last_pid",
    "/proc/uptime",
    "/proc/sys/crypto/fips_enabled",
};

/// Returns whether the value of a variable could make the path one of kMountableInProc.
bool CanBeMountable(std::string_view path) {
  const auto field = path.find(TemplateShape::kField);
  const std::string_view literal = path.substr(0, field);
  return std::any_of(
      std::begin(kMountableInProc), std::end(kMountableInProc), [&](std::string_view file) {
        return field == std::string_view::npos ? file == literal : file.starts_with(literal);
      });
}

struct ReservedEnv {
  std::string_view name;
  bool is_prefix = false;
};

/// Variables that select programs, libraries or modules, or make an interpreter run code.
constexpr ReservedEnv kReservedEnv[] = {
    // the dynamic linker and the C library
    {"LD_", true},
    {"GCONV_PATH"},
    {"GETCONF_DIR"},
    {"GLIBC_TUNABLES"},
    {"OPENSSL_CONF"},
    {"OPENSSL_ENGINES"},
    {"OPENSSL_MODULES"},
    // shells
    {"PATH"},
    {"IFS"},
    {"ENV"},
    {"BASH_ENV"},
    {"BASHOPTS"},
    {"SHELLOPTS"},
    {"PROMPT_COMMAND"},
    {"PS4"},
    {"ZDOTDIR"},
    // interpreters and virtual machines
    {"PYTHONBREAKPOINT"},
    {"PYTHONHOME"},
    {"PYTHONINSPECT"},
    {"PYTHONPATH"},
    {"PYTHONPLATLIBDIR"},
    {"PYTHONSTARTUP"},
    {"PYTHONUSERBASE"},
    {"PYTHONWARNINGS"},
    {"PERL5DB"},
    {"PERL5LIB"},
    {"PERL5OPT"},
    {"PERLLIB"},
    {"RUBYLIB"},
    {"RUBYOPT"},
    {"NODE_OPTIONS"},
    {"NODE_PATH"},
    {"LUA_", true},
    {"PHPRC"},
    {"PHP_INI_SCAN_DIR"},
    {"AWKPATH"},
    {"AWKLIBPATH"},
    {"CLASSPATH"},
    {"JAVA_TOOL_OPTIONS"},
    {"JDK_JAVA_OPTIONS"},
    {"_JAVA_OPTIONS"},
    {"CORECLR_PROFILER", true},
    {"DOTNET_STARTUP_HOOKS"},
};

}  // namespace

Problem ProblemWithPath(const TemplateShape& path) {
  const std::string& text = path.text;
  if (text.empty()) return At(path, 0, "the path is empty");
  const bool begins_with_other =
      std::any_of(path.fields.begin(), path.fields.end(), [](const Template::Span& field) {
        return field.begin == 0 && field.origin != Origin::kNode;
      });
  if (begins_with_other || (text[0] != '/' && !IsField(text[0]))) {
    return At(path, 0, "a path must be absolute: begin with \"/\", {path} or {real_path}");
  }
  for (const Template::Span& field : path.fields) {
    if (field.origin != Origin::kDevice || !IsKnown(path, field)) continue;
    if (IsSafeComponent(ValueOf(path, field))) continue;
    return At(path, field.begin,
              Format("text from a device can only fill one component of a path, with 1 to {} "
                     "letters, digits, spaces and ._:@+,=~%#-",
                     kMaxComponent));
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (IsControl(text[i]) && !IsField(text[i])) {
      return At(path, i, "a path cannot contain control characters");
    }
  }
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find('/', start), text.size());
    // The text before the first slash is empty, or a variable with a path.
    if (start > 0) {
      if (auto problem = CheckComponent(path, start, end)) return problem;
    }
    start = end + 1;
  }
  for (const Template::Span& field : path.fields) {
    const bool is_first = text.find_first_not_of("/.") >= field.begin;
    if (!is_first || (field.origin != Origin::kDevice && field.name != "id")) continue;
    return At(
        path, field.begin,
        "text from a device cannot start the first component of a path; add a directory before it");
  }
  if (!IsUtf8(text)) return At(path, 0, "a path must be valid UTF-8");
  return std::nullopt;
}

Problem ProblemWithNodePath(const TemplateShape& path) {
  for (const Template::Span& field : path.fields) {
    if (field.origin != Origin::kDevice || !IsKnown(path, field)) continue;
    return At(path, field.begin,
              "text from a device cannot select a device node; {path}, {real_path}, {name} and "
              "named groups can");
  }
  return ProblemWithPath(path);
}

Problem ProblemWithContainerPath(const TemplateShape& path) {
  if (auto problem = ProblemWithPath(path)) return problem;
  if (path.text.find_first_not_of("/.") == std::string::npos) {
    return At(path, 0, "the path is the root directory of the container");
  }
  return std::nullopt;
}

Problem ProblemWithNodeTarget(const TemplateShape& path) {
  if (auto problem = ProblemWithContainerPath(path)) return problem;
  const std::string shortest = FollowLink("/", path.text);
  for (const std::string_view directory : {"/proc/", "/sys/"}) {
    if (!shortest.starts_with(directory)) continue;
    return At(
        path, 0,
        Format("container runtimes cannot create device nodes below {}; use a path below /dev",
               directory.substr(0, directory.size() - 1)));
  }
  return std::nullopt;
}

Problem ProblemWithMountTarget(const TemplateShape& path) {
  if (auto problem = ProblemWithContainerPath(path)) return problem;
  const std::string shortest = FollowLink("/", path.text);
  if (!shortest.starts_with("/proc/") || CanBeMountable(shortest)) return std::nullopt;
  return At(path, 0,
            "container runtimes refuse mounts below /proc, except over single files such as "
            "/proc/cpuinfo and /proc/meminfo; use another path");
}

Problem ProblemWithEnvName(const TemplateShape& name) {
  static constexpr Alphabet kName = {
      [](char c) { return IsLetter(c) || c == '_'; }, [](char c) { return IsAlnum(c) || c == '_'; },
      [](char) { return true; },
      "can contain only letters, digits and \"_\", and must not begin with a digit"};
  if (!name.fields.empty() && name.fields.front().begin == 0) {
    return At(name, 0,
              "the name of an environment variable must start with text from the configuration");
  }
  return CheckName(name, {name.text}, "the name of an environment variable", kName);
}

bool IsReservedEnv(std::string_view name) {
  return std::any_of(std::begin(kReservedEnv), std::end(kReservedEnv), [&](const auto& reserved) {
    // Called for every device; most names differ in the first byte.
    if (name.empty() || name.front() != reserved.name.front()) return false;
    return reserved.is_prefix ? name.starts_with(reserved.name) : name == reserved.name;
  });
}

Problem ProblemWithAnnotationKey(const TemplateShape& key) {
  static constexpr Alphabet kName = {
      IsAlnum, [](char c) { return IsAlnum(c) || c == '-' || c == '_' || c == '.'; }, IsAlnum,
      "can contain only letters, digits, \"-\", \"_\" and \".\", with a letter or digit at both "
      "ends"};
  const auto last_slash = key.text.rfind('/');  // in literal text, or in {resource}
  for (const Template::Span& field : key.fields) {
    const bool in_prefix = last_slash != std::string::npos && field.begin <= last_slash;
    const bool is_resource = IsFromConfiguration(field) && field.end > last_slash;
    if (!in_prefix || is_resource) continue;
    return At(key, field.begin, "a variable cannot be used before the slash");
  }
  ShapePart name{key.text};
  if (const auto slash = key.text.find('/'); slash != std::string::npos) {
    if (auto problem = CheckDnsSubdomain(key, name.Before(slash), "the part before the slash")) {
      return problem;
    }
    name = name.After(slash);
  }
  if (LiteralSize(name.text) > 63) {
    return At(key, name.start, "the name of an annotation is longer than 63 bytes");
  }
  return CheckName(key, name, "the name of an annotation", kName);
}

Problem ProblemWithCdiName(const TemplateShape& name) {
  static constexpr Alphabet kVendor = {
      IsLetter, [](char c) { return IsAlnum(c) || c == '-' || c == '_' || c == '.'; }, IsAlnum,
      "can contain only letters, digits, \"-\", \"_\" and \".\", and must begin with a letter"};
  static constexpr Alphabet kClass = {
      IsLetter, [](char c) { return IsAlnum(c) || c == '-' || c == '_' || c == '.'; }, IsAlnum,
      "can contain only letters, digits, \"-\", \"_\" and \".\", and must begin with a letter"};
  static constexpr Alphabet kDevice = {
      IsAlnum, [](char c) { return IsAlnum(c) || c == '-' || c == '_' || c == '.' || c == ':'; },
      IsAlnum,
      "can contain only letters, digits, \"-\", \"_\", \".\" and \":\", with a letter or digit at "
      "both ends"};
  const ShapePart whole{name.text};
  const auto equals = name.text.find('=');
  const auto slash = name.text.find('/');
  if (slash == std::string::npos || equals == std::string::npos || equals < slash) {
    return At(name, 0, "a CDI device name must be vendor/class=name");
  }
  for (const Template::Span& field : name.fields) {
    if (field.begin > equals) continue;
    return At(name, field.begin, "a variable cannot be used in the vendor or the class");
  }
  const ShapePart kind = whole.Before(equals);
  if (auto problem = CheckName(name, kind.Before(slash), "the vendor", kVendor)) return problem;
  if (auto problem = CheckName(name, kind.After(slash), "the class", kClass)) return problem;
  const ShapePart device = whole.After(equals);
  if (auto problem = CheckName(name, device, "the name of a CDI device", kDevice)) return problem;
  if (device.text != "all" || !HoldsField(name, device.start, name.text.size())) {
    return std::nullopt;
  }
  return At(name, device.start,
            "a variable must not make the name \"all\", which means every device");
}

Problem ProblemWithInterfaceName(const TemplateShape& name) {
  static constexpr auto kInside = [](char c) {
    return IsAlnum(c) || c == '-' || c == '_' || c == '.';
  };
  static constexpr Alphabet kName = {kInside, kInside, kInside,
                                     "can contain only letters, digits, \"-\", \"_\" and \".\""};
  constexpr std::string_view kWhat = "the name of a network interface";
  if (auto problem = CheckName(name, {name.text}, kWhat, kName)) return problem;
  if (IsDots(name.text)) return At(name, 0, Format("{} cannot be \"{}\"", kWhat, name.text));
  if (LiteralSize(name.text) <= kMaxInterfaceName) return std::nullopt;
  return At(name, 0, Format("{} has at most {} bytes", kWhat, kMaxInterfaceName));
}

int AddressVersion(std::string_view text) {
  const std::string address(text);
  in6_addr bytes;
  if (inet_pton(AF_INET, address.c_str(), &bytes) == 1) return 4;
  return inet_pton(AF_INET6, address.c_str(), &bytes) == 1 ? 6 : 0;
}

Problem ProblemWithPrefixedAddress(const TemplateShape& address) {
  const std::string& text = address.text;
  const auto slash = text.find('/');
  const bool has_fields = std::ranges::any_of(text, IsField);
  bool is_valid = std::ranges::all_of(text, [](char c) {
    return IsField(c) || std::string_view("0123456789abcdefABCDEF.:/").find(c) != std::string::npos;
  });
  if (is_valid && !has_fields) {
    const int version = AddressVersion(text.substr(0, slash));
    const auto length = ParseNumber<int>(slash == std::string::npos ? "" : text.substr(slash + 1));
    const int longest = version == 4 ? 32 : 128;
    is_valid = version != 0 && length.value_or(-1) >= 0 && length.value_or(longest + 1) <= longest;
  }
  if (is_valid) return std::nullopt;
  return At(address, 0,
            "it is not an IP address with the length of its prefix, as in 192.0.2.7/24 or "
            "2001:db8::7/64");
}

}  // namespace patchbay
