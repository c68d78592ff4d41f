#include <array>

#include "config/decode.h"
#include "config/keys.h"
#include "config/schema_patterns.h"
#include "model/spec.h"

namespace patchbay {
namespace {

constexpr std::string_view kFile[] = {"file"};
constexpr std::string_view kMatches[] = {"matches"};
constexpr std::string_view kFileExpectations[] = {"equals", "matches"};

constexpr Key<HealthDraft> kHealthKeys[] = {
    KeyFor<&HealthDraft::command>(
        {.name = "command",
         .meaning = "a program and its arguments, run without a shell; exit code 0 means healthy",
         .example = R"(["/usr/local/bin/card-ok", "{path}"])",
         .non_empty = true,
         .alternative_group = 1}),
    KeyFor<&HealthDraft::open>({.name = "open",
                                .meaning = "true: healthy if each node of the device can be opened",
                                .example = "true",
                                .alternative_group = 1}),
    KeyFor<&HealthDraft::file>(
        {.name = "file",
         .meaning =
             "a file of the host, for example in /sys; healthy if it has the expected content",
         .example = R"("/sys/class/net/{INTERFACE}/operstate")",
         .pattern = kPathTemplatePattern,
         .alternative_group = 1,
         .needs = kFileExpectations}),
    KeyFor<&HealthDraft::equals>({.name = "equals",
                                  .meaning = "with file: the expected content",
                                  .example = R"("up")",
                                  .needs = kFile,
                                  .excludes = kMatches}),
    KeyFor<&HealthDraft::matches>({.name = "matches",
                                   .meaning = "with file: an RE2 expression for the whole content",
                                   .example = R"("up|unknown")",
                                   .needs = kFile}),
    KeyFor<&HealthDraft::spec, &ProbeSpec::period>(
        {.name = "period",
         .default_value = R"("30s")",
         .meaning = "interval between probes, with a jitter of 10 %",
         .range = {100, kDay}}),
    KeyFor<&HealthDraft::spec, &ProbeSpec::timeout>({.name = "timeout",
                                                     .default_value = R"("5s")",
                                                     .meaning = "a probe that takes longer fails",
                                                     .range = {10, 300 * kSecond}}),
    KeyFor<&HealthDraft::spec, &ProbeSpec::initial_delay>(
        {.name = "initial_delay",
         .default_value = R"("0s")",
         .meaning = "delay before the first probe of a new device",
         .range = {0, kDay}}),
    KeyFor<&HealthDraft::spec, &ProbeSpec::failure_threshold>(
        {.name = "failure_threshold",
         .default_value = "3",
         .meaning = "consecutive failures before a device is marked Unhealthy",
         .range = {1, 1000}}),
    KeyFor<&HealthDraft::spec, &ProbeSpec::success_threshold>(
        {.name = "success_threshold",
         .default_value = "1",
         .meaning = "consecutive successes before a device is marked Healthy again",
         .range = {1, 1000}}),
    KeyFor<&HealthDraft::spec, &ProbeSpec::before_first>(
        {.name = "before_first",
         .default_value = R"("healthy")",
         .meaning = "the health that is reported until a threshold is reached",
         .choices = kHealths}),
};

constexpr Key<HooksDraft> kHooksKeys[] = {
    KeyFor<&HooksDraft::pre_start>(
        {.name = "pre_start", .meaning = "runs before each start of a container; can be slow"}),
    KeyFor<&HooksDraft::allocate>(
        {.name = "allocate", .meaning = "runs while the kubelet admits the pod; must be quick"}),
    KeyFor<&HooksDraft::release>(
        {.name = "release", .meaning = "runs when no pod uses the device any more"}),
};

template <class D>
constexpr std::array<Key<D>, 2> HookKeys(std::string_view fallback,
                                         std::chrono::milliseconds longest,
                                         std::string_view timeout) {
  return {KeyFor<&D::command>(
              {.name = "command",
               .meaning = "a program and its arguments, run without a shell, once for each device",
               .required = true,
               .example = R"(["/usr/local/bin/card-reset", "{path}"])",
               .non_empty = true}),
          KeyFor<&D::timeout>({.name = "timeout",
                               .default_value = fallback,
                               .meaning = timeout,
                               .range = {10, longest.count()}})};
}

constexpr std::string_view kOfAll =
    "the program is stopped after this time, in total for all devices of the container";
constexpr auto kPreStartKeys = HookKeys<PreStartDraft>(R"("20s")", kMaxPreStart, kOfAll);
constexpr auto kAllocateKeys = HookKeys<AllocateDraft>(R"("5s")", std::chrono::minutes(1), kOfAll);
constexpr auto kReleaseKeys = HookKeys<ReleaseDraft>(R"("60s")", std::chrono::hours(1),
                                                     "the program is stopped after this time");

}  // namespace

template <>
std::span<const Key<HealthDraft>> KeysOf() {
  return kHealthKeys;
}
template <>
std::span<const Key<HooksDraft>> KeysOf() {
  return kHooksKeys;
}
template <>
std::span<const Key<PreStartDraft>> KeysOf() {
  return kPreStartKeys;
}
template <>
std::span<const Key<AllocateDraft>> KeysOf() {
  return kAllocateKeys;
}
template <>
std::span<const Key<ReleaseDraft>> KeysOf() {
  return kReleaseKeys;
}

}  // namespace patchbay
