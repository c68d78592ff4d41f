#include "config/diagnostic_code.h"

#include <iterator>

namespace patchbay {
namespace {

using enum Severity;

constexpr CodeInfo kCodes[] = {
    {Code::kUnreadableFile, "unreadable-file", kError, "the file cannot be read"},
    {Code::kSyntax, "syntax", kError, "the text is not valid TOML"},
    {Code::kUnknownKey, "unknown-key", kError, "the section has no such key"},
    {Code::kMissingKey, "missing-key", kError, "a required key is missing"},
    {Code::kWrongCombination, "wrong-combination", kError,
     "the key needs another key, or cannot be used with it"},
    {Code::kDuplicate, "duplicate", kError,
     "a name or a section that must be unique appears twice"},
    {Code::kWrongType, "wrong-type", kError, "the value has the wrong type"},
    {Code::kOutOfRange, "out-of-range", kError, "the number, duration or count is out of range"},
    {Code::kBadValue, "bad-value", kError, "the value does not have the form that the key needs"},
    {Code::kBadPath, "bad-path", kError, "the path is not absolute or not usable"},
    {Code::kBadPattern, "bad-pattern", kError, "the pattern is malformed or matches nothing"},
    {Code::kBadTemplate, "bad-template", kError, "the template is malformed"},
    {Code::kUnknownVariable, "unknown-variable", kError, "no match provides the variable"},
    {Code::kReservedName, "reserved-name", kError,
     "the environment variable controls which programs run, or the variable is built in"},
    {Code::kBadCommand, "bad-command", kError, "the list is not a program and its arguments"},
    {Code::kTemplateInProgram, "template-in-program", kError,
     "a variable would choose the program, or the code that an interpreter runs"},
    {Code::kNoResources, "no-resources", kWarning, "the configuration has no [[resource]]"},
    {Code::kConstantId, "constant-id", kWarning,
     "if a match finds more than one device, all get the same ID and are rejected"},
    {Code::kMissingVariable, "missing-variable", kWarning,
     "all devices of a match lack a variable that a template needs"},
    {Code::kContainerPathClash, "container-path-clash", kWarning,
     "two host paths can map to the same container path, or one hides the other"},
    {Code::kRenamedDrmNode, "renamed-drm-node", kWarning,
     "graphics libraries look for the node under the kernel's name"},
    {Code::kSharedNode, "shared-node", kWarning, "two resources claim the same path or device"},
    {Code::kForeignNotation, "foreign-notation", kWarning,
     "the text looks like the notation of another program or key"},
    {Code::kSlowHooks, "slow-hooks", kWarning,
     "the kubelet waits for a hook, or stops waiting before its timeout"},
    {Code::kNoEffect, "no-effect", kWarning,
     "the key has no effect with the API that serves the resource"},
    {Code::kTooManyFindings, "too-many-findings", kError, "more errors or warnings than are shown"},
};

constexpr bool InOrder() {
  for (std::size_t i = 0; i < std::size(kCodes); ++i) {
    if (kCodes[i].code != static_cast<Code>(i)) return false;
  }
  return std::size(kCodes) == static_cast<std::size_t>(Code::kTooManyFindings) + 1;
}
static_assert(InOrder(), "the table has one line for each Code, in the order of the enumeration");

}  // namespace

std::span<const CodeInfo> AllCodes() { return kCodes; }

const CodeInfo& InfoOf(Code code) { return kCodes[static_cast<std::size_t>(code)]; }

}  // namespace patchbay
