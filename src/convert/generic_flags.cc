#include "convert/generic_flags.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include "base/escape.h"
#include "base/format.h"
#include "config/reporter.h"

namespace patchbay {
namespace {

// --config is not of every version; where it is refused, nobody has it in a manifest that works.
constexpr std::string_view kFlags[] = {"--config", "--config-file",     "--device",    "--domain",
                                       "--help",   "--listen",          "--log-level", "--version",
                                       "-h",       "--plugin-directory"};
constexpr std::string_view kSwitches[] = {"--help", "--version", "-h"};
constexpr std::string_view kSettings[] = {"--listen", "--log-level", "--plugin-directory"};

bool IsOneOfFlags(std::span<const std::string_view> flags, std::string_view flag) {
  return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

bool IsFlag(const YamlValue& argument) {
  return argument.IsScalar() && argument.text.size() > 1 && argument.text.starts_with('-');
}

/// What is before the first "=", with the dashes that the plugin's help has.
std::string NameOfFlag(const YamlValue& argument) {
  const std::string name = argument.text.substr(0, argument.text.find('='));
  return name.starts_with("--") || name.size() == 2 ? name : "-" + name;
}

/// A word that no flag takes: the program, where the container has a command, or a slip.
void TakeWord(const YamlValue& word, bool is_of_command, Findings& findings) {
  if (!word.IsScalar()) {
    findings.Malformed(word.place, "an argument must be a text", "put quotes around it");
  } else if (!is_of_command && word.text.find("generic-device-plugin") == std::string::npos) {
    findings.Ignored(word.place,
                     format("no flag takes \"{}\"; it is ignored", Truncate(word.text, 60)),
                     "put --device in front if it is a device");
  }
}

}  // namespace

bool NamesDevices(const Manifest::Container& container) {
  return std::any_of(container.arguments.begin(), container.arguments.end(),
                     [](const YamlValue& argument) {
                       return IsFlag(argument) && NameOfFlag(argument) == "--device";
                     });
}

GenericFlags ReadGenericFlags(const Manifest::Container& container, Findings& findings) {
  GenericFlags flags;
  const auto& arguments = container.arguments;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const YamlValue& argument = arguments[i];
    if (!IsFlag(argument)) {
      TakeWord(argument, i < container.command_size, findings);
      continue;
    }
    const std::string flag = NameOfFlag(argument);
    const bool has_next = i + 1 < arguments.size();
    if (flag == "--" || IsOneOfFlags(kSwitches, flag)) continue;
    if (!IsOneOfFlags(kFlags, flag)) {
      findings.Ignored(
          argument.place,
          format("`{}` is not a flag that generic-device-plugin knows; it is ignored",
                 Truncate(flag, 60)),
          DidYouMean(flag.substr(0, 60), kFlags, "take it out: the plugin does not start with it"));
      // What follows is rather its value than a word by itself.
      if (argument.text.find('=') == std::string::npos && has_next && !IsFlag(arguments[i + 1])) {
        ++i;
      }
      continue;
    }
    if (flag == "--device") flags.names_devices = true;
    YamlValue value = argument;
    if (const auto equals = argument.text.find('='); equals != std::string::npos) {
      value.text.erase(0, equals + 1);
    } else if (has_next) {
      value = arguments[++i];
    } else {
      findings.Malformed(argument.place, format("{} has no value", flag),
                         "put its value behind it, or take it out");
      continue;
    }
    if (flag == "--device") {
      flags.devices.push_back(std::move(value));
    } else if (flag == "--domain") {
      flags.domain = std::move(value.text);
    } else if (IsOneOfFlags(kSettings, flag)) {
      flags.settings.emplace_back(flag, Truncate(value.text, 80));
    }
  }
  return flags;
}

}  // namespace patchbay
