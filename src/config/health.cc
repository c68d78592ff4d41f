#include "config/health.h"

#include "base/escape.h"
#include "base/format.h"
#include "config/argv.h"
#include "config/duration.h"
#include "config/toml_text.h"
#include "model/template_shape.h"
#include "model/validators.h"

namespace patchbay {
namespace {

/// Maximum timeout of an allocate hook without a warning that it delays other pods.
constexpr std::chrono::seconds kQuick{1};

std::optional<ProbeKind> CompileFileProbe(const Section& section, const Scope& scope,
                                          PatternCompiler& patterns) {
  Reporter& reporter = patterns.reporter();
  const Text& file = *section.GetText("file");
  auto path = CompileTemplate(file, scope, reporter);
  if (!path) return std::nullopt;
  if (const auto problem = ProblemWithPath(ShapeOf(*path))) {
    reporter.Report(Code::kBadPath, file, *problem,
                    "use an absolute path, as in /sys/class/net/{INTERFACE}/operstate");
  }
  if (const Text* equals = section.GetText("equals")) {
    if (const auto bar = equals->value.find('|'); bar != std::string::npos) {
      reporter.Report(Code::kForeignNotation, equals->At(bar),
                      "\"|\" is only a character of the expected content",
                      Format("write matches = {}", Truncate(QuoteToml(equals->value), 100)));
    }
    return FileProbe{std::move(*path), equals->value};
  }
  const Text* matches = section.GetText("matches");
  if (matches == nullptr) return std::nullopt;
  auto pattern = patterns.TextRegex(*matches);
  if (!pattern) return std::nullopt;
  return FileProbe{std::move(*path), std::move(*pattern)};
}

std::optional<ProbeKind> CompileProbe(const Section& section, const Scope& scope,
                                      bool devices_have_nodes, PatternCompiler& patterns) {
  Reporter& reporter = patterns.reporter();
  const std::string_view kind = section.alternative();
  if (kind == "command") return CommandProbe{CompileArgv(section, scope, reporter)};
  if (kind == "file") return CompileFileProbe(section, scope, patterns);
  if (kind != "open") return std::nullopt;  // reported
  if (!devices_have_nodes) {
    reporter.Report(Code::kWrongCombination, section.PlaceOf("open"),
                    "the devices have no node to open", "use a command or a file to probe them");
  }
  return OpenProbe{};
}

std::optional<HookSpec> CompileHook(const Section* section, std::chrono::milliseconds timeout,
                                    const Scope& scope, Reporter& reporter) {
  if (section == nullptr || !section->Has("command")) return std::nullopt;
  HookSpec hook{CompileArgv(*section, scope, reporter), timeout};
  section->Read("timeout", hook.timeout);
  return hook;
}

}  // namespace

std::optional<ProbeSpec> CompileHealth(const Section& section, const Scope& devices,
                                       bool devices_have_nodes, PatternCompiler& patterns) {
  auto kind = CompileProbe(section, devices, devices_have_nodes, patterns);
  if (!kind) return std::nullopt;
  ProbeSpec probe{std::move(*kind)};
  section.Read("period", probe.period);
  section.Read("timeout", probe.timeout);
  section.Read("initial_delay", probe.initial_delay);
  section.Read("failure_threshold", probe.failure_threshold);
  section.Read("success_threshold", probe.success_threshold);
  section.Read("before_first", probe.before_first);
  return probe;
}

/// The kubelet prepares the claims of several pods at once, but it does not wait longer than this.
void CheckClaimHooks(const Section& section, const ResourceSpec& spec, Reporter& reporter) {
  std::chrono::milliseconds together{};
  if (spec.allocate) together += spec.allocate->timeout;
  if (spec.pre_start) together += spec.pre_start->timeout;
  if (together <= kClaimHookLimit) return;
  reporter.Report(
      Code::kSlowHooks, section.place(),
      Format("allocate and pre_start may take {}, and for a claim they have {} together",
             FormatDuration(together), FormatDuration(kClaimHookLimit)),
      "set shorter timeouts; what is stopped begins again when the kubelet repeats the call");
}

void CompileHooks(const Section& section, const Scope& devices, const Scope& containers,
                  Reporter& reporter, ResourceSpec& spec) {
  using std::chrono::seconds;
  const Section* allocate = section.GetSection("allocate");
  spec.pre_start = CompileHook(section.GetSection("pre_start"), seconds(20), containers, reporter);
  spec.allocate = CompileHook(allocate, seconds(5), containers, reporter);
  spec.release = CompileHook(section.GetSection("release"), seconds(60), devices, reporter);
  if (spec.api == Api::kDra) {
    CheckClaimHooks(section, spec, reporter);
  } else if (spec.allocate && !allocate->is_broken() && spec.allocate->timeout > kQuick) {
    reporter.Report(Code::kSlowHooks, allocate->place(),
                    Format("while this program runs, for up to {}, the kubelet admits no other pod",
                           FormatDuration(spec.allocate->timeout)),
                    "use pre_start for slow work, which delays only its own container; a timeout "
                    "of at most 1s disables this warning");
  }
}

}  // namespace patchbay
