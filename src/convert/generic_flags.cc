#include "convert/generic_flags.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string_view>
#include <utility>

#include "base/escape.h"
#include "base/format.h"
#include "config/reporter.h"
#include "convert/command_line.h"

namespace patchbay {
namespace {

// Not every version has --config. A version without it does not start with it, so a working
// manifest has the flag only for a version that supports it.
constexpr std::string_view kFlags[] = {"--config", "--config-file",     "--device",    "--domain",
                                       "--help",   "--listen",          "--log-level", "--version",
                                       "-h",       "--plugin-directory"};
constexpr std::string_view kSwitches[] = {"--help", "--version", "-h"};
constexpr std::string_view kSettings[] = {"--listen", "--log-level", "--plugin-directory"};

/// Returns what to do about a variable in an argument whose value is not in the input.
std::string HintOnUnknown(const Manifest::Argument& argument) {
  return argument.hint + (argument.hint.empty() ? "" : ", or ") + "write its value";
}

/// Reports a variable in an argument whose value is not in the input.
void ReportUnknown(std::string_view what, const Manifest::Argument& argument, Findings& findings) {
  findings.CannotConvert(argument.source.place(),
                         Format("{} contains the variable {}, whose value is not in the input: {}",
                                what, Truncate(argument.unknown, 60), Truncate(argument.text, 100)),
                         HintOnUnknown(argument));
}

/// Reports an argument that is neither a flag nor its value.
void ReportWord(const Manifest::Argument& word, Findings& findings) {
  if (!word.source.IsScalar()) {
    findings.Malformed(word.source.place(), "an argument must be a string", "put it in quotes");
  } else if (!word.unknown.empty()) {
    ReportUnknown("an argument", word, findings);
  } else {
    findings.Ignored(word.source.place(),
                     Format("unexpected argument \"{}\"; it is ignored", Truncate(word.text, 60)),
                     "if it is a device, put --device before it");
  }
}

/// Reports a command line that needs a shell, by its flags. The domain in it is not known.
GenericFlags FlagsOfScript(const Manifest::Container& container, Findings& findings) {
  constexpr const char* kInstead =
      "write the program and its flags as a list in `command`, without a shell";
  const Manifest::Argument& script = *container.script;
  const SourceLocation place = script.source.place();
  GenericFlags flags;
  if (script.text.find("DOMAIN=") != std::string::npos) flags.domain = {"DOMAIN", place, kInstead};
  std::set<std::string> names;
  for (std::size_t i = 0; i < container.arguments.size(); ++i) {
    const std::string flag = FlagOf(container.arguments[i]);
    if (IsAmong(flag, kFlags)) names.insert(flag);
    const auto value = flag == "--domain" ? ValueOfFlag(container.arguments, i) : std::nullopt;
    if (value) flags.domain = {value->text, place, kInstead};
  }
  const std::string message =
      Format("cannot read {} in the shell command: {}",
             names.empty() ? "the flags" : Format("{}", fmt::join(names, " and ")),
             Truncate(script.text, 100));
  if (NamesDevices(container)) {
    findings.CannotConvert(place, message, kInstead);
  } else {
    findings.Assumed(place, message, kInstead);
  }
  return flags;
}

}  // namespace

GenericFlags ReadGenericFlags(const Manifest::Container& container, Findings& findings) {
  if (container.script) return FlagsOfScript(container, findings);
  GenericFlags flags;
  const auto& arguments = container.arguments;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Manifest::Argument& argument = arguments[i];
    const std::string flag = FlagOf(argument);
    if (flag.empty()) {
      ReportWord(argument, findings);
      continue;
    }
    if (flag == "--" || IsAmong(flag, kSwitches)) continue;
    if (!IsAmong(flag, kFlags)) {
      findings.Ignored(
          argument.source.place(),
          Format("unknown flag `{}` for generic-device-plugin; it is ignored", Truncate(flag, 60)),
          DidYouMean(flag.substr(0, 60), kFlags, "remove it: the plugin does not start with it"));
      // The next word is probably the value of this flag.
      auto next = i;
      const auto value = ValueOfFlag(arguments, next);
      if (value && FlagOf(*value).empty()) i = next;
      continue;
    }
    auto value = ValueOfFlag(arguments, i);
    if (!value) {
      findings.Malformed(argument.source.place(), Format("{} has no value", flag),
                         "add its value, or remove the flag");
      continue;
    }
    const bool is_known = value->unknown.empty();
    if (flag == "--domain") {
      flags.domain = {value->text, value->source.place(),
                      is_known ? HintOnTemplate(value->text) : HintOnUnknown(*value)};
    } else if (!is_known && (flag == "--device" || flag.starts_with("--config"))) {
      ReportUnknown(flag, *value, findings);
    } else if (flag == "--device") {
      flags.devices.push_back(std::move(*value));
    } else if (IsAmong(flag, kSettings)) {
      flags.settings.emplace_back(flag, std::move(*value));
    }
  }
  return flags;
}

}  // namespace patchbay
