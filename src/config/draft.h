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

/// Drafts are the sections of the file with the type and the location of each value, before keys
/// are checked against each other. The tables in keys.cc and keys_of_*.cc have one row for each
/// member that is a key. Drafts are plain values.

template <class T>
struct Spanned {
  T value{};
  SourceLocation place;
};

/// One of the allowed words of a key; the value is its index in KeyInfo::choices.
struct Choice {
  std::size_t value = 0;
  SourceLocation place;
};

/// A string that is a template. The separate type makes the reference show "template".
struct TemplateText : Text {};

/// An array of strings.
struct TextList {
  std::vector<Text> items;
  SourceLocation place;
};
struct TemplateList : TextList {};
/// A string or an array of strings.
struct OneOrMore : TextList {};

/// A table of templates whose keys are also templates.
struct TemplatePairs {
  std::vector<std::pair<Text, Text>> items;
  SourceLocation place;
};
/// A table that maps names to patterns.
struct PatternPairs : TemplatePairs {};

/// A table that maps names of attributes to templates, each with a type.
struct AttributePair {
  Text name;
  AttributeType type = AttributeType::kString;
  Text value;
};
struct AttributePairs {
  std::vector<AttributePair> items;
  SourceLocation place;
};

/// If a draft has a member `spec`, keys that need no check beyond their type and bounds are decoded
/// directly into that part of the model.

/// The common part of all sections. `broken` means that a key of the section is unknown or invalid.
/// No missing key or variable is then reported that this key might have provided.
struct Draft {
  SourceLocation place;
  bool broken = false;
};

struct DraDraft : Draft {
  static constexpr std::string_view kSection = "daemon.dra";
  std::optional<Text> driver;
};

struct KubernetesDraft : Draft {
  static constexpr std::string_view kSection = "daemon.kubernetes";
  std::optional<Text> server;
  std::optional<Text> ca;
  std::optional<Text> token_file;
  std::optional<Text> client_certificate;
  std::optional<Text> client_key;
};

struct DaemonDraft : Draft {
  static constexpr std::string_view kSection = "daemon";
  std::optional<Text> listen;
  std::optional<OneOrMore> hosts;
  std::optional<Text> kubelet_dir;
  std::optional<Text> host_root;
  std::optional<Text> cdi_dir;
  std::optional<Text> pod_resources;
  std::optional<DraDraft> dra;
  std::optional<KubernetesDraft> kubernetes;
  DaemonSpec spec;
};

struct UdevDraft : Draft {
  static constexpr std::string_view kSection = "resource.match.udev";
  std::optional<OneOrMore> subsystem;
  std::optional<OneOrMore> driver;
  std::optional<PatternPairs> properties;
  std::optional<PatternPairs> attributes;
};

/// The conditions of a match, and the section `not`.
struct ConditionsDraft : Draft {
  static constexpr std::string_view kSection = "resource.match.not";
  std::optional<OneOrMore> usb;
  std::optional<OneOrMore> serial;
  std::optional<OneOrMore> usb_port;
  std::optional<OneOrMore> pci;
  std::optional<OneOrMore> pci_address;
  std::optional<UdevDraft> udev;
};

struct DeviceNodeDraft : Draft {
  static constexpr std::string_view kSection = "resource.device_node";
  std::optional<TemplateText> host_path;
  std::optional<TemplateText> container_path;
  std::optional<Text> permissions;
  bool optional = false;
};

/// A key of a section, and the location of its value.
struct PlacedKey {
  std::string_view name;
  SourceLocation place;
};

struct MatchDraft : Draft {
  static constexpr std::string_view kSection = "resource.match";
  std::string text;             ///< the keys on one line, in the order of the file
  std::vector<PlacedKey> keys;  ///< all known keys, in the order of the file
  std::optional<OneOrMore> path;
  std::optional<Text> regex;
  ConditionsDraft conditions;
  std::optional<ConditionsDraft> negated;
  std::optional<TextList> command;
  std::optional<Spanned<std::chrono::milliseconds>> timeout;
  std::optional<Spanned<int>> count;
  std::optional<OneOrMore> exclude;
  std::optional<Spanned<bool>> exclude_required;
  bool allow_mounted = false;
  std::optional<TemplateText> id;
  std::optional<Choice> type;
  std::optional<Text> group_by;
  std::optional<Spanned<bool>> together;
  std::optional<OneOrMore> require;
  std::optional<Spanned<int>> max_devices;
  std::vector<DeviceNodeDraft> device_nodes;
};

struct MountDraft : Draft {
  static constexpr std::string_view kSection = "resource.mount";
  std::optional<TemplateText> host_path;
  std::optional<TemplateText> container_path;
  bool read_only = true;
  bool optional = false;
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
  std::optional<Choice> api;
  std::optional<Choice> on_unhealthy;
  std::optional<TextList> claim_env;
  std::optional<Choice> preferred_allocation;
  std::optional<Spanned<bool>> topology;
  std::optional<Spanned<bool>> exclusive;
  std::optional<Spanned<bool>> grant_group;
  std::optional<Text> env_separator;
  std::optional<TextList> on_nodes;
  std::optional<TemplateList> cdi_devices;
  std::vector<MatchDraft> matches;
  std::vector<DeviceNodeDraft> device_nodes;
  std::vector<MountDraft> mounts;
  std::optional<TemplatePairs> env;
  std::optional<TemplatePairs> annotations;
  std::optional<AttributePairs> attributes;
  std::optional<HealthDraft> health;
  std::optional<HooksDraft> hooks;
};

/// The whole input: all files as one document.
struct DocumentDraft : Draft {
  static constexpr std::string_view kSection = "";
  std::optional<DaemonDraft> daemon;
  std::vector<ResourceDraft> resources;
};

}  // namespace patchbay
