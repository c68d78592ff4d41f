#pragma once

#include <string_view>

namespace patchbay {

/// What texts look like, as regular expressions of ECMA for the schema. None refuses what the
/// parser takes; the parser knows more, such as which variables there are. Where a template may
/// stand they let a variable, `{name:format}`, pass for anything.

inline constexpr std::string_view kDurationPattern = "^[0-9]+(ms|s|m|h)$";

/// IPv4:port, [IPv6]:port or :port
inline constexpr std::string_view kListenPattern =
    R"(^(\[[0-9A-Fa-f:.]+\]|[0-9]{1,3}(\.[0-9]{1,3}){3})?:[0-9]+$)";

/// Absolute, without "..", without control characters.
inline constexpr std::string_view kPathPattern = R"(^/(?!(.*/)?\.\.(/|$))[^\x00-\x1f\x7f]*$)";
inline constexpr std::string_view kPathOrNothingPattern =
    R"(^(/(?!(.*/)?\.\.(/|$))[^\x00-\x1f\x7f]*)?$)";
/// The same, of at most 50 bytes: not more leave room for the names of sockets.
inline constexpr std::string_view kKubeletDirPattern =
    R"(^(?=.{1,50}/*$)/(?!(.*/)?\.\.(/|$))[^\x00-\x1f\x7f]*$)";

inline constexpr std::string_view kResourceNamePattern =
    "^(?!requests\\.)(?!.*kubernetes\\.io/)"
    "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*"
    "/[A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?$";

/// Two numbers as lsusb and lspci -n show them.
inline constexpr std::string_view kDeviceNumbersPattern =
    R"(^([0-9A-Fa-f]{4}|\*):([0-9A-Fa-f]{4}|\*)$)";

/// A glob or a regular expression for whole paths, none of which ends with a slash.
inline constexpr std::string_view kGlobPattern = R"(^/(?!(.*/)?\.\.(/|$))[\s\S]*([^/]|\\/)$)";
inline constexpr std::string_view kRegexPattern = R"(^/[\s\S]*[^/]$)";

/// An argument of a program.
inline constexpr std::string_view kArgumentPattern = R"(^[^\x00]*$)";

inline constexpr std::string_view kVariablePattern = "^[^{}]+$";
inline constexpr std::string_view kPermissionsPattern = R"(^(?!.*(.).*\1)[rwm]+$)";
/// A file below the directory of a device in sysfs.
inline constexpr std::string_view kAttributePattern = R"(^(?!(.*/)?\.{1,2}(/|$))[^/]+(/[^/]+)*$)";

inline constexpr std::string_view kTemplatePattern =
    R"(^([^{}\x00]|\{\{|\}\}|\{[A-Za-z_][A-Za-z0-9_]*(:[^{}]*)?\})*$)";
inline constexpr std::string_view kPathTemplatePattern =
    R"(^(?=[/{])(?!(.*/)?\.\.(/|$)))"
    R"(([^{}\x00-\x1f\x7f]|\{\{|\}\}|\{[A-Za-z_][A-Za-z0-9_]*(:[^{}]*)?\})*$)";
/// The same, and not the root of the container.
inline constexpr std::string_view kContainerPathPattern =
    R"(^(?=[/{])(?![/.]*$)(?!(.*/)?\.\.(/|$)))"
    R"(([^{}\x00-\x1f\x7f]|\{\{|\}\}|\{[A-Za-z_][A-Za-z0-9_]*(:[^{}]*)?\})*$)";
inline constexpr std::string_view kEnvNamePattern =
    R"(^(?!(PATH|LD_LIBRARY_PATH|LD_PRELOAD)$)([A-Za-z_]|\{[^{}]*\})([A-Za-z0-9_]|\{[^{}]*\})*$)";
inline constexpr std::string_view kAnnotationKeyPattern =
    R"(^(([a-z0-9]|\{[^{}]*\})([-.a-z0-9]|\{[^{}]*\})*/)?)"
    R"((?![^{/]{64})([A-Za-z0-9]|\{[^{}]*\})([-_.A-Za-z0-9]|\{[^{}]*\})*$)";
inline constexpr std::string_view kCdiNamePattern =
    R"(^([A-Za-z]|\{[^{}]*\})([-_.A-Za-z0-9]|\{[^{}]*\})*)"
    R"(/([A-Za-z]|\{[^{}]*\})([-_.A-Za-z0-9]|\{[^{}]*\})*)"
    R"(=([A-Za-z0-9]|\{[^{}]*\})([-_.:A-Za-z0-9]|\{[^{}]*\})*$)";

}  // namespace patchbay
