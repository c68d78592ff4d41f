#pragma once

#include <span>
#include <string_view>

#include "base/diagnostics.h"

namespace patchbay {

/// The codes of diagnostics about a configuration. The names are stable, for searches and scripts.
/// docs/diagnostics.md explains each.
enum class Code {
  // The input as files.
  kUnreadableFile,
  kNoFiles,
  kFileTooLarge,
  kInputTooLarge,
  kNotUtf8,
  kSyntax,
  // The shape of the document.
  kUnknownKey,
  kWrongType,
  kMissingKey,
  kDuplicateSection,
  kTooManyResources,
  kOutOfRange,
  kUnknownValue,
  kBadDuration,
  // [daemon].
  kBadListenAddress,
  kBadHost,
  kSocketPathTooLong,
  // What a resource is and which devices belong to it.
  kBadResourceName,
  kDuplicateResource,
  kMatchSource,
  kNotWithSource,
  kNeedsKey,
  kBadDeviceNumbers,
  kNoCondition,
  kBadCommand,
  kBadGlob,
  kBadRegex,
  kReservedVariable,
  kMatchesNothing,
  // What a container gets.
  kBadTemplate,
  kUnknownVariable,
  kBadFormat,
  kBadPath,
  kBadPermissions,
  kNoHostNode,
  kBadEnvName,
  kReservedEnv,
  kBadAnnotationKey,
  kBadCdiName,
  // Health and hooks.
  kProbeKind,
  kTemplateInProgram,
  // Valid, but probably unintended.
  kNoResources,
  kConstantId,
  kMissingVariable,
  kContainerPathClash,
  kRenamedDrmNode,
  kSharedNode,
  kSlowAdmission,
  // The rest of the findings, when there are very many.
  kTooManyFindings,
};

struct CodeInfo {
  Code code;
  std::string_view name;  ///< "unknown-key"
  Severity severity;
  std::string_view meaning;  ///< one line, without a full stop
};

/// All codes, in the order of the enumeration.
std::span<const CodeInfo> AllCodes();

const CodeInfo& InfoOf(Code code);

}  // namespace patchbay
