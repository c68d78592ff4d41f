#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/toml_value.h"
#include "model/spec.h"

namespace patchbay {

/// Drafts: the sections of the file with every key in its own type and place, before anything is
/// checked against anything else. keys.cc has one line for each member that is a key. Plain values.

template <class T>
struct Spanned {
  T value{};
  SourceLocation place;
};

/// A word out of the choices of its key; the value is its index among them.
struct Choice {
  std::size_t value = 0;
  SourceLocation place;
};

/// A string that is a template, so that the reference can say so.
struct TemplateText : Text {};

/// An array of strings.
struct TextList {
  std::vector<Text> items;
  SourceLocation place;
};
struct TemplateList : TextList {};
/// A string or an array of strings.
struct OneOrMore : TextList {};

/// A table of templates whose keys are templates too.
struct TemplatePairs {
  std::vector<std::pair<Text, Text>> items;
  SourceLocation place;
};
/// A table of patterns under names.
struct PatternPairs : TemplatePairs {};

/// Drafts of sections with keys that need no check beyond their type and bounds contain the value
/// of the model, and those keys are decoded into it.

/// What all sections have. A broken one holds a key that could not be used: what is missing from it
/// may be just that.
struct Draft {
  SourceLocation place;
  bool broken = false;
};

struct DaemonDraft : Draft {
  static constexpr std::string_view kSection = "daemon";
  std::optional<Text> listen;
  std::optional<OneOrMore> hosts;
  std::optional<Text> kubelet_dir;
  std::optional<Text> host_root;
  std::optional<Text> pod_resources;
  DaemonSpec spec;
};

struct UdevDraft : Draft {
  static constexpr std::string_view kSection = "resource.match.udev";
  std::optional<OneOrMore> subsystem;
  std::optional<OneOrMore> driver;
  std::optional<PatternPairs> properties;
  std::optional<PatternPairs> attributes;
};

struct MatchDraft : Draft {
  static constexpr std::string_view kSection = "resource.match";
  std::string text;  ///< the keys on one line, as in the file
  std::optional<OneOrMore> path;
  std::optional<Text> regex;
  std::optional<Text> usb;
  std::optional<Text> serial;
  std::optional<Text> pci;
  std::optional<UdevDraft> udev;
  std::optional<TextList> command;
  std::optional<Spanned<std::chrono::milliseconds>> timeout;
  std::optional<Spanned<int>> count;
  std::optional<OneOrMore> exclude;
  std::optional<TemplateText> id;
  std::optional<Choice> type;
  std::optional<Text> group_by;
  std::optional<OneOrMore> require;
  std::optional<Spanned<int>> max_devices;
};

struct DeviceNodeDraft : Draft {
  static constexpr std::string_view kSection = "resource.device_node";
  std::optional<TemplateText> host_path;
  std::optional<TemplateText> container_path;
  std::optional<Text> permissions;
  bool optional = false;
};

struct MountDraft : Draft {
  static constexpr std::string_view kSection = "resource.mount";
  std::optional<TemplateText> host_path;
  std::optional<TemplateText> container_path;
  bool read_only = true;
};

struct HealthDraft : Draft {
  static constexpr std::string_view kSection = "resource.health";
  std::optional<TemplateList> command;
  std::optional<Spanned<bool>> open;
  std::optional<TemplateText> file;
  std::optional<Text> equals;
  std::optional<Text> matches;
  ProbeSpec spec;
};

inline constexpr std::string_view kHookSections[] = {
    "resource.hooks.pre_start", "resource.hooks.allocate", "resource.hooks.release"};
template <std::size_t Section>
struct HookDraft : Draft {
  static constexpr std::string_view kSection = kHookSections[Section];
  std::optional<TemplateList> command;
  std::optional<std::chrono::milliseconds> timeout;
};
using PreStartDraft = HookDraft<0>;
using AllocateDraft = HookDraft<1>;
using ReleaseDraft = HookDraft<2>;
struct HooksDraft : Draft {
  static constexpr std::string_view kSection = "resource.hooks";
  std::optional<PreStartDraft> pre_start;
  std::optional<AllocateDraft> allocate;
  std::optional<ReleaseDraft> release;
};

struct ResourceDraft : Draft {
  static constexpr std::string_view kSection = "resource";
  std::optional<Text> name;
  ResourceSpec spec;
  std::optional<bool> topology;
  std::optional<Spanned<bool>> exclusive;
  std::optional<Text> env_separator;
  std::optional<TextList> on_nodes;
  std::optional<TemplateList> cdi_devices;
  std::vector<MatchDraft> matches;
  std::vector<DeviceNodeDraft> device_nodes;
  std::vector<MountDraft> mounts;
  std::optional<TemplatePairs> env;
  std::optional<TemplatePairs> annotations;
  std::optional<HealthDraft> health;
  std::optional<HooksDraft> hooks;
};

/// The whole input: all files together.
struct DocumentDraft : Draft {
  static constexpr std::string_view kSection = "";
  std::optional<DaemonDraft> daemon;
  std::vector<ResourceDraft> resources;
};

}  // namespace patchbay
