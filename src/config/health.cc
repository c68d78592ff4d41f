// HealthCompiler derives the kind of probe from the keys of [resource.health] and compiles it. All
// other keys of the section have been decoded into the `spec` of the draft. Commands of probes and
// hooks are compiled by CompileArgv: it checks the list, compiles each argument as a template and
// rejects variables that would choose the program or become part of its code.

#include "config/health.h"

#include "base/format.h"
#include "config/argv.h"
#include "config/duration.h"
#include "config/foreign_syntax.h"
#include "model/template_shape.h"
#include "model/validators.h"

namespace patchbay {
namespace {

/// Maximum timeout of an allocate hook without a warning that it delays other pods.
constexpr std::chrono::seconds kQuick{1};

constexpr std::string_view kCommandExample = R"(command = ["/usr/local/bin/card-ok", "{path}"])";

std::vector<Template> CompileArgv(const TemplateList& list, std::string_view example,
                                  const Scope& scope, Reporter& reporter) {
  std::vector<Template> argv;
  if (!CheckArgv(list, example, reporter)) return argv;
  for (const Text& argument : list.items) {
    if (auto compiled = CompileTemplate(argument, scope, reporter)) {
      argv.push_back(std::move(*compiled));
    }
  }
  if (argv.size() == list.items.size()) {
    CheckVariablesOfArgv(list, argv, example, reporter);
  }
  return argv;
}

/// Compiles the kind of probe of [resource.health].
class HealthCompiler {
 public:
  HealthCompiler(const HealthDraft& draft, const Scope& scope, PatternBudget& budget,
                 Reporter& reporter)
      : draft_(draft), scope_(scope), budget_(budget), reporter_(reporter) {}

  std::optional<ProbeKind> Kind(bool devices_have_nodes) {
    const bool opens = draft_.open && draft_.open->value;
    const int kinds = (draft_.command ? 1 : 0) + (opens ? 1 : 0) + (draft_.file ? 1 : 0);
    if (kinds == 0 && draft_.broken) return std::nullopt;  // the invalid key may be the probe
    if (kinds == 0) CheckNoFileKeys();
    if (kinds != 1) {
      reporter_.Report(
          Code::kProbeKind, draft_.place,
          kinds == 0 ? "no probe is configured" : "more than one probe is configured",
          "write exactly one of command, open = true, and file with equals or matches");
      return std::nullopt;
    }
    if (!draft_.file) CheckNoFileKeys();
    if (draft_.command) return Command();
    if (draft_.file) return File();
    if (!devices_have_nodes) {
      reporter_.Report(Code::kNoHostNode, draft_.open->place, "the devices have no node to open",
                       "use a command or a file to probe them");
    }
    return OpenProbe{};
  }

 private:
  void CheckNoFileKeys() {
    for (const auto& [name, text] :
         {std::pair("equals", &draft_.equals), std::pair("matches", &draft_.matches)}) {
      if (*text) {
        reporter_.Report(Code::kNeedsKey, (*text)->place, Format("\"{}\" needs \"file\"", name),
                         "add the file to read");
      }
    }
  }

  ProbeKind Command() {
    return CommandProbe{CompileArgv(*draft_.command, kCommandExample, scope_, reporter_)};
  }

  std::optional<ProbeKind> File() {
    WarnOfForeignVariable(*draft_.file, scope_, reporter_);
    auto path = CompileTemplate(*draft_.file, scope_, reporter_);
    if (path) {
      if (const auto problem = ProblemWithPath(ShapeOf(*path))) {
        reporter_.Report(Code::kBadPath, draft_.file->At(problem->offset), problem->message,
                         "use an absolute path, as in /sys/class/net/{INTERFACE}/operstate");
      }
    }
    if (draft_.equals.has_value() == draft_.matches.has_value()) {
      reporter_.Report(Code::kNeedsKey, draft_.file->place,
                       draft_.equals ? "\"equals\" and \"matches\" are mutually exclusive"
                                     : "\"file\" needs \"equals\" or \"matches\"",
                       "equals = \"up\", or matches = 'up|unknown'");
      return std::nullopt;
    }
    if (!path) return std::nullopt;
    if (draft_.equals) return FileProbe{std::move(*path), draft_.equals->value};
    auto pattern = CompileTextPattern(*draft_.matches, budget_, reporter_);
    if (!pattern) return std::nullopt;
    return FileProbe{std::move(*path), std::move(*pattern)};
  }

  const HealthDraft& draft_;
  const Scope& scope_;
  PatternBudget& budget_;
  Reporter& reporter_;
};

template <class D>
std::optional<HookSpec> CompileHook(const std::optional<D>& draft, std::string_view example,
                                    std::chrono::milliseconds timeout, const Scope& scope,
                                    Reporter& reporter) {
  if (!draft || !draft->command) return std::nullopt;
  HookSpec hook;
  hook.argv = CompileArgv(*draft->command, example, scope, reporter);
  hook.timeout = draft->timeout.value_or(timeout);
  return hook;
}

}  // namespace

std::optional<ProbeSpec> CompileHealth(const HealthDraft& draft, const Scope& devices,
                                       bool devices_have_nodes, PatternBudget& budget,
                                       Reporter& reporter) {
  auto kind = HealthCompiler(draft, devices, budget, reporter).Kind(devices_have_nodes);
  if (!kind) return std::nullopt;
  ProbeSpec probe = draft.spec;
  probe.kind = std::move(*kind);
  return probe;
}

/// The kubelet prepares the claims of several pods at once, but it does not wait longer than this.
void CheckClaimHooks(const HooksDraft& draft, const ResourceSpec& spec, Reporter& reporter) {
  std::chrono::milliseconds together{};
  if (spec.allocate) together += spec.allocate->timeout;
  if (spec.pre_start) together += spec.pre_start->timeout;
  if (together <= kClaimHookLimit) return;
  reporter.Report(
      Code::kSlowClaimHooks, draft.place,
      Format("allocate and pre_start may take {}, and for a claim they have {} together",
             FormatDuration(together), FormatDuration(kClaimHookLimit)),
      "set shorter timeouts; what is stopped begins again when the kubelet repeats the call");
}

void CompileHooks(const HooksDraft& draft, const Scope& devices, const Scope& containers,
                  Reporter& reporter, ResourceSpec& spec) {
  using std::chrono::seconds;
  spec.pre_start =
      CompileHook(draft.pre_start, R"(command = ["/usr/local/bin/card-reset", "{path}"])",
                  seconds(20), containers, reporter);
  spec.allocate = CompileHook(draft.allocate, R"(command = ["/usr/local/bin/card-claim", "{id}"])",
                              seconds(5), containers, reporter);
  spec.release = CompileHook(draft.release, R"(command = ["/usr/local/bin/card-wipe", "{path}"])",
                             seconds(60), devices, reporter);
  if (spec.api == Api::kDra) {
    CheckClaimHooks(draft, spec, reporter);
  } else if (spec.allocate && !draft.allocate->broken && spec.allocate->timeout > kQuick) {
    reporter.Report(Code::kSlowAdmission, draft.allocate->place,
                    Format("while this program runs, for up to {}, the kubelet admits no other pod",
                           FormatDuration(spec.allocate->timeout)),
                    "use pre_start for slow work, which delays only its own container; a timeout "
                    "of at most 1s disables this warning");
  }
  if (!draft.broken && !draft.pre_start && !draft.allocate && !draft.release) {
    reporter.Report(Code::kNeedsKey, draft.place, "the section has no hook",
                    "add pre_start, allocate or release, or remove the section");
  }
}

}  // namespace patchbay
