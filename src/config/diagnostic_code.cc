#include "config/diagnostic_code.h"

#include <iterator>

namespace patchbay {
namespace {

using enum Severity;

constexpr CodeInfo kCodes[] = {
    {Code::kUnreadableFile, "unreadable-file", kError, "the file cannot be read"},
    {Code::kNoFiles, "no-files", kError, "the directory contains no *.toml file"},
    {Code::kFileTooLarge, "file-too-large", kError, "the file is larger than 1 MiB"},
    {Code::kInputTooLarge, "input-too-large", kError, "the files are larger than 16 MiB together"},
    {Code::kNotUtf8, "not-utf8", kError, "the text is not valid UTF-8"},
    {Code::kSyntax, "syntax", kError, "the text is not valid TOML"},
    {Code::kUnknownKey, "unknown-key", kError, "unknown key"},
    {Code::kWrongType, "wrong-type", kError, "the value has the wrong type"},
    {Code::kMissingKey, "missing-key", kError, "a required key is missing"},
    {Code::kDuplicateSection, "duplicate-section", kError,
     "a section that may appear only once appears in two files"},
    {Code::kTooManyResources, "too-many-resources", kError,
     "there are more than 1,000 resources, or more than 128 for one node"},
    {Code::kOutOfRange, "out-of-range", kError, "the number or duration is out of range"},
    {Code::kUnknownValue, "unknown-value", kError, "the value is not one of the allowed words"},
    {Code::kBadDuration, "bad-duration", kError, "the value is not a valid duration"},
    {Code::kBadListenAddress, "bad-listen-address", kError,
     "the value is not a valid listen address"},
    {Code::kBadHost, "bad-host", kError, "the value is not a valid host name"},
    {Code::kSocketPathTooLong, "socket-path-too-long", kError,
     "sockets in this directory would have paths that are too long for the system"},
    {Code::kBadDriverName, "bad-driver-name", kError, "the value is not a valid name of a driver"},
    {Code::kBadApiServer, "bad-api-server", kError,
     "the keys of [daemon.kubernetes] do not fit together"},
    {Code::kBadResourceName, "bad-resource-name", kError,
     "the resource name is not valid for the kubelet"},
    {Code::kDuplicateResource, "duplicate-resource", kError, "two resources have the same name"},
    {Code::kMatchSource, "match-source", kError, "a match has no source or more than one"},
    {Code::kNotWithSource, "not-with-source", kError,
     "the key cannot be used with the source of the match"},
    {Code::kNeedsKey, "needs-key", kError, "the key needs another key"},
    {Code::kBadDeviceNumbers, "bad-device-numbers", kError,
     "the value is not a pair of USB or PCI IDs"},
    {Code::kNoCondition, "no-condition", kError, "the condition matches every device"},
    {Code::kBadCommand, "bad-command", kError, "the list is not a program and its arguments"},
    {Code::kBadGlob, "bad-glob", kError, "a glob pattern is malformed"},
    {Code::kBadRegex, "bad-regex", kError, "a regular expression is malformed"},
    {Code::kReservedVariable, "reserved-variable", kError,
     "a named group has the name of a built-in variable"},
    {Code::kMatchesNothing, "matches-nothing", kError, "no path can match the pattern"},
    {Code::kBadTemplate, "bad-template", kError, "a template is malformed"},
    {Code::kUnknownVariable, "unknown-variable", kError, "no match provides the variable"},
    {Code::kBadFormat, "bad-format", kError,
     "the format specification does not fit the type of the variable"},
    {Code::kBadPath, "bad-path", kError, "the path is not absolute or not usable"},
    {Code::kBadPermissions, "bad-permissions", kError,
     "the permissions are not a combination of r, w and m"},
    {Code::kNoHostNode, "no-host-node", kError,
     "a device_node needs host_path because the devices have no node on the host"},
    {Code::kBadEnvName, "bad-env-name", kError,
     "the name is not a valid environment variable name"},
    {Code::kReservedEnv, "reserved-env", kError,
     "the environment variable controls which programs or libraries run"},
    {Code::kBadAnnotationKey, "bad-annotation-key", kError,
     "the key is not a valid qualified name of Kubernetes"},
    {Code::kBadCdiName, "bad-cdi-name", kError,
     "the name is not a valid CDI device name: vendor/class=name"},
    {Code::kBadAttribute, "bad-attribute", kError, "the API server would reject the attribute"},
    {Code::kProbeKind, "probe-kind", kError, "[resource.health] needs exactly one kind of probe"},
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
    {Code::kForeignVariable, "foreign-variable", kWarning,
     "the text contains a variable in the syntax of another program"},
    {Code::kSlowAdmission, "slow-admission", kWarning,
     "the kubelet waits for a program before it admits any other pod"},
    {Code::kSlowClaimHooks, "slow-claim-hooks", kWarning,
     "the hooks of a claim have less time than their timeouts allow"},
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
