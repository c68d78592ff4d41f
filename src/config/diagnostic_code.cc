#include "config/diagnostic_code.h"

#include <iterator>

namespace patchbay {
namespace {

using enum Severity;

/// In the order of Code.
constexpr CodeInfo kCodes[] = {
    {"unreadable-file", kError, "the file cannot be read"},
    {"syntax", kError, "the text is not valid TOML"},
    {"unknown-key", kError, "the section has no such key"},
    {"missing-key", kError, "a required key is missing"},
    {"wrong-combination", kError, "the key needs another key, or cannot be used with it"},
    {"duplicate", kError, "a name or a section that must be unique appears twice"},
    {"wrong-type", kError, "the value has the wrong type"},
    {"out-of-range", kError, "the number, duration or count is out of range"},
    {"bad-value", kError, "the value does not have the form that the key needs"},
    {"bad-path", kError, "the path is not absolute or not usable"},
    {"bad-pattern", kError, "the pattern is malformed or matches nothing"},
    {"bad-template", kError, "the template is malformed"},
    {"unknown-variable", kError, "no match provides the variable"},
    {"reserved-name", kError,
     "the environment variable controls which programs run, or the variable is built in"},
    {"bad-command", kError, "the list is not a program and its arguments"},
    {"template-in-program", kError,
     "a variable would choose the program, or the code that an interpreter runs"},
    {"no-resources", kWarning, "the configuration has no [[resource]]"},
    {"constant-id", kWarning,
     "if a match finds more than one device, all get the same ID and are rejected"},
    {"missing-variable", kWarning, "all devices of a match lack a variable that a template needs"},
    {"container-path-clash", kWarning,
     "two host paths can map to the same container path, or one hides the other"},
    {"renamed-drm-node", kWarning, "graphics libraries look for the node under the kernel's name"},
    {"renamed-interface", kWarning, "the host can have the interface back under another name"},
    {"shared-node", kWarning, "two resources claim the same path or device"},
    {"foreign-notation", kWarning, "the text looks like the notation of another program or key"},
    {"slow-hooks", kWarning, "the kubelet waits for a hook, or stops waiting before its timeout"},
    {"no-effect", kWarning,
     "the key has no effect with the API that serves the resource, or without replicas"},
    {"too-many-findings", kError, "more errors or warnings than are shown"},
};

static_assert(std::size(kCodes) == static_cast<std::size_t>(Code::kTooManyFindings) + 1);

}  // namespace

std::span<const CodeInfo> AllCodes() { return kCodes; }

const CodeInfo& InfoOf(Code code) { return kCodes[static_cast<std::size_t>(code)]; }

}  // namespace patchbay
