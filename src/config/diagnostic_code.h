#pragma once

#include <span>
#include <string_view>

#include "base/diagnostics.h"

namespace patchbay {

/// Codes of the diagnostics for a configuration. Their names are stable, so that users can search
/// for them and use them in scripts. docs/diagnostics.md explains each code.
enum class Code {
  // The text.
  kUnreadableFile,
  kSyntax,
  // Keys and their values.
  kUnknownKey,
  kMissingKey,
  kWrongCombination,
  kDuplicate,
  kWrongType,
  kOutOfRange,
  kBadValue,
  kBadPath,
  kBadPattern,
  kBadTemplate,
  kUnknownVariable,
  kReservedName,
  kBadCommand,
  kTemplateInProgram,
  // Valid, but probably unintended.
  kNoResources,
  kConstantId,
  kMissingVariable,
  kContainerPathClash,
  kRenamedDrmNode,
  kRenamedInterface,
  kSharedNode,
  kForeignNotation,
  kSlowHooks,
  kNoEffect,
  // Replaces the remaining diagnostics if there are too many.
  kTooManyFindings,
};

struct CodeInfo {
  std::string_view name;  ///< "unknown-key"
  Severity severity;
  std::string_view meaning;  ///< one line, without a period
};

/// Returns all codes, in the order of the enumeration.
std::span<const CodeInfo> AllCodes();

const CodeInfo& InfoOf(Code code);

}  // namespace patchbay
