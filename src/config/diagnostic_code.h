#pragma once

#include <span>
#include <string_view>

#include "base/diagnostics.h"

namespace patchbay {

/// Codes of the diagnostics for a configuration. Their names are stable, so that users can search
/// for them and use them in scripts. docs/diagnostics.md explains each code.
enum class Code {
  // Input files.
  kUnreadableFile,
  kNoFiles,
  kFileTooLarge,
  kInputTooLarge,
  kNotUtf8,
  kSyntax,
  // Structure of the document.
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
  kBadDriverName,
  kBadApiServer,
  // Resources and their matches.
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
  // Container content.
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
  kBadAttribute,
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
  kForeignVariable,
  kSlowAdmission,
  kSlowClaimHooks,
  kNoEffect,
  // Replaces the remaining diagnostics if there are too many.
  kTooManyFindings,
};

struct CodeInfo {
  Code code;
  std::string_view name;  ///< "unknown-key"
  Severity severity;
  std::string_view meaning;  ///< one line, without a period
};

/// Returns all codes, in the order of the enumeration.
std::span<const CodeInfo> AllCodes();

const CodeInfo& InfoOf(Code code);

}  // namespace patchbay
