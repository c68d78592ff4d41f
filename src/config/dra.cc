#include "config/dra.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "base/escape.h"
#include "base/format.h"
#include "base/path.h"
#include "config/foreign_syntax.h"
#include "model/driver_name.h"
#include "model/template_shape.h"
#include "model/validators.h"

namespace patchbay {
namespace {

/// The attributes that every device has: `resource` and `id`.
constexpr std::size_t kAutomaticAttributes = 2;

void CheckNumber(const AttributePairs& pairs, const ResourceSpec& spec, Reporter& reporter) {
  const std::size_t slots = spec.replicas > 1 ? 1 : 0;
  const std::size_t max = kMaxAttributes - kAutomaticAttributes - slots;
  if (spec.attributes.size() <= max) return;
  reporter.Report(Code::kBadAttribute, pairs.place,
                  Format("there are {} attributes, and the API server accepts {} besides those "
                         "that Patchbay sets",
                         spec.attributes.size(), max),
                  "remove attributes that no claim uses");
}

void CompileAttribute(const AttributePair& pair, const DaemonSpec& daemon, const Scope& scope,
                      Reporter& reporter, ResourceSpec& spec) {
  auto problem = ProblemWithAttributeName(pair.name.value, daemon.dra_driver);
  if (problem) {
    reporter.Report(Code::kBadAttribute, pair.name.place,
                    Format("\"{}\": {}", Truncate(pair.name.value, 100), *problem),
                    "as in model = \"{ID_MODEL}\"");
  }
  WarnOfForeignVariable(pair.value, scope, reporter);
  auto value = CompileTemplate(pair.value, scope, reporter);
  if (!value || problem) return;
  if (value->fields().empty()) {
    const auto text = value->Render(Variables());
    const auto parsed = text ? ParseAttribute(pair.type, *text) : Failure(text.error());
    if (!parsed) {
      const bool is_long = text && text->size() > kMaxAttributeText;
      return reporter.Report(
          Code::kBadAttribute, pair.value.place, parsed.error().message,
          is_long ? "shorten it" : "write a value of this type, or use a variable");
    }
  }
  spec.attributes.push_back({pair.name.value, pair.type, *std::move(value)});
}

/// Warns if a key that only the other API uses is set.
template <class T>
void WarnOfNoEffect(std::string_view key, const std::optional<T>& set, Api needed,
                    const ResourceSpec& spec, Reporter& reporter) {
  if (!set || spec.api == needed) return;
  reporter.Report(
      Code::kNoEffect, set->place,
      Format("\"{}\" has no effect with api = \"{}\"", key,
             kApiNames[static_cast<std::size_t>(spec.api)]),
      Format("remove it, or set api = \"{}\"", kApiNames[static_cast<std::size_t>(needed)]));
}

/// A problem is at its key, or at the section if the key is missing. A key that is missing, unknown
/// or of the wrong type has been reported.
void CompileCluster(const KubernetesDraft& draft, Reporter& reporter, DaemonSpec& spec) {
  const std::tuple<std::string_view, const std::optional<Text>&, std::string ClusterSettings::*>
      keys[] = {
          {"server", draft.server, &ClusterSettings::server},
          {"ca", draft.ca, &ClusterSettings::ca},
          {"token_file", draft.token_file, &ClusterSettings::token_file},
          {"client_certificate", draft.client_certificate, &ClusterSettings::client_certificate},
          {"client_key", draft.client_key, &ClusterSettings::client_key}};
  ClusterSettings& settings = spec.kubernetes.emplace();
  for (const auto& [name, text, member] : keys) {
    if (text) settings.*member = text->value;
  }
  const auto config = CheckCluster(settings);
  if (config) return;
  for (const ClusterProblem& problem : config.error()) {
    const bool is_reported = (problem.key == "server" && !draft.server) ||
                             (problem.key == "ca" && !draft.ca) ||
                             (draft.broken && !problem.is_of_value);
    if (is_reported) continue;
    SourceLocation place = draft.place;
    for (const auto& [name, text, member] : keys) {
      if (text && name == problem.key) place = text->place;
    }
    reporter.Report(Code::kBadApiServer, place, problem.message, problem.hint);
  }
}

}  // namespace

void CompileDraDaemon(const DaemonDraft& draft, Reporter& reporter, DaemonSpec& spec) {
  if (draft.dra && draft.dra->driver) {
    spec.dra_driver = draft.dra->driver->value;
    if (const Status valid = CheckDriverName(spec.dra_driver); !valid) {
      reporter.Report(Code::kBadDriverName, draft.dra->driver->place, valid.error().message,
                      "as in driver = \"patchbay.dev\"");
    }
    const std::size_t both = spec.dra_driver.size() + DirectoryOf(spec.kubelet_dir).size();
    if (both > kMaxDriverAndRoot && spec.kubelet_dir.size() <= kMaxKubeletDir) {
      reporter.Report(
          Code::kSocketPathTooLong, draft.dra->driver->place,
          Format("the driver name and the directory of kubelet_dir have {} bytes together, which "
                 "makes socket paths longer than {}",
                 both, kMaxSocketPath),
          Format("they are limited to {} bytes together; choose a shorter name",
                 kMaxDriverAndRoot));
    }
  }
  if (draft.kubernetes) CompileCluster(*draft.kubernetes, reporter, spec);
}

void CompileDraKeys(const ResourceDraft& draft, const DaemonSpec& daemon, const Scope& devices,
                    Reporter& reporter, ResourceSpec& spec) {
  if (draft.on_unhealthy) spec.on_unhealthy = static_cast<OnUnhealthy>(draft.on_unhealthy->value);
  if (draft.claim_env) {
    for (const Text& prefix : draft.claim_env->items) {
      if (const auto problem = ProblemWithEnvName(LiteralShape(prefix.value))) {
        reporter.Report(
            Code::kBadEnvName, prefix.place,
            Format("claim_env has the beginning of a name of a variable: {}", problem->message),
            "as in [\"BAUD_\"]; a whole name works too");
      } else {
        spec.claim_env.push_back(prefix.value);
      }
    }
  }
  if (draft.attributes) {
    for (const AttributePair& pair : draft.attributes->items) {
      CompileAttribute(pair, daemon, devices, reporter, spec);
    }
    CheckNumber(*draft.attributes, spec, reporter);
  }
  if (spec.api == Api::kDra && draft.name && spec.name.size() > kMaxAttributeText) {
    reporter.Report(
        Code::kBadResourceName, draft.name->place,
        Format("with api = \"dra\", a resource name is limited to {} bytes", kMaxAttributeText),
        "device classes select by the name; choose a shorter one");
  }
}

void WarnOfKeysOfTheOtherApi(const ResourceDraft& draft, const ResourceSpec& spec,
                             Reporter& reporter) {
  if (spec.on_unhealthy != OnUnhealthy()) {
    WarnOfNoEffect("on_unhealthy", draft.on_unhealthy, Api::kDra, spec, reporter);
  }
  WarnOfNoEffect("claim_env", draft.claim_env, Api::kDra, spec, reporter);
  WarnOfNoEffect("attributes", draft.attributes, Api::kDra, spec, reporter);
  if (spec.preferred_allocation != Preference()) {
    WarnOfNoEffect("preferred_allocation", draft.preferred_allocation, Api::kDevicePlugin, spec,
                   reporter);
  }
  WarnOfNoEffect("topology", draft.topology, Api::kDevicePlugin, spec, reporter);
  WarnOfNoEffect("annotations", draft.annotations, Api::kDevicePlugin, spec, reporter);
}

}  // namespace patchbay
