#pragma once

#include <string_view>

namespace patchbay {

/// Formats of strings as ECMA regular expressions for the JSON Schema. They accept everything that
/// the parser accepts; the parser checks more, such as the names of variables. In templates, a
/// variable `{name:format}` can stand for any part of the text.
inline constexpr std::string_view kDurationPattern = "^[0-9]+(ms|s|m|h)$";

/// IPv4:port, [IPv6]:port or :port.
inline constexpr std::string_view kListenPattern =
    R"(^(\[[0-9A-Fa-f:.]+\]|[0-9]{1,3}(\.[0-9]{1,3}){3})?:[0-9]+$)";

/// A host name in which * matches any text.
inline constexpr std::string_view kHostPattern = R"(^[A-Za-z0-9*._-]+$)";

/// Absolute, without "..", without control characters.
inline constexpr std::string_view kPathPattern = R"(^/(?!(.*/)?\.\.(/|$))[^\x00-\x1f\x7f]*$)";
inline constexpr std::string_view kPathOrNothingPattern =
    R"(^(/(?!(.*/)?\.\.(/|$))[^\x00-\x1f\x7f]*)?$)";
/// The same, with at most 50 bytes, so that the paths of sockets in it do not become too long.
inline constexpr std::string_view kKubeletDirPattern =
    R"(^(?=.{1,50}/*$)/(?!(.*/)?\.\.(/|$))[^\x00-\x1f\x7f]*$)";

inline constexpr std::string_view kResourceNamePattern =
    "^(?!requests\\.)(?!.*kubernetes\\.io/)"
    "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*"
    "/[A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?$";

/// Two IDs as shown by lsusb and lspci -n.
inline constexpr std::string_view kDeviceNumbersPattern =
    R"(^([0-9A-Fa-f]{4}|\*):([0-9A-Fa-f]{4}|\*)$)";

/// A glob or a regular expression for whole paths. Paths never end with a slash.
inline constexpr std::string_view kGlobPattern = R"(^/(?!(.*/)?\.\.(/|$))[\s\S]*([^/]|\\/)$)";
inline constexpr std::string_view kRegexPattern = R"(^/[\s\S]*[^/]$)";

/// An argument of a program.
inline constexpr std::string_view kArgumentPattern = R"(^[^\x00]*$)";

inline constexpr std::string_view kVariablePattern = "^[^{}]+$";
inline constexpr std::string_view kPermissionsPattern = R"(^(?!.*(.).*\1)[rwm]+$)";
/// A file below the sysfs directory of a device.
inline constexpr std::string_view kAttributePattern = R"(^(?!(.*/)?\.{1,2}(/|$))[^/]+(/[^/]+)*$)";

inline constexpr std::string_view kTemplatePattern =
    R"(^([^{}\x00]|\{\{|\}\}|\{[A-Za-z_][A-Za-z0-9_]*(:[^{}]*)?\})*$)";
/// Begins with a slash or a variable that contains a path.
inline constexpr std::string_view kPathTemplatePattern =
    R"(^(?=/|\{(real_)?path[:}])(?!(.*/)?\.\.(/|$)))"
    R"(([^{}\x00-\x1f\x7f]|\{\{|\}\}|\{[A-Za-z_][A-Za-z0-9_]*(:[^{}]*)?\})*$)";
/// The same, except for the root directory of the container.
inline constexpr std::string_view kContainerPathPattern =
    R"(^(?=/|\{(real_)?path[:}])(?![/.]*$)(?!(.*/)?\.\.(/|$)))"
    R"(([^{}\x00-\x1f\x7f]|\{\{|\}\}|\{[A-Za-z_][A-Za-z0-9_]*(:[^{}]*)?\})*$)";
/// Any valid name except those that IsReservedEnv rejects.
inline constexpr std::string_view kEnvNamePattern =
    R"(^(?!(LD_|LUA_|CORECLR_PROFILER)))"
    R"((?!(GCONV_PATH|GETCONF_DIR|GLIBC_TUNABLES|OPENSSL_CONF|OPENSSL_ENGINES|)"
    R"(OPENSSL_MODULES|PATH|IFS|ENV|BASH_ENV|BASHOPTS|SHELLOPTS|PROMPT_COMMAND|PS4|)"
    R"(ZDOTDIR|PYTHONBREAKPOINT|PYTHONHOME|PYTHONINSPECT|PYTHONPATH|)"
    R"(PYTHONPLATLIBDIR|PYTHONSTARTUP|PYTHONUSERBASE|PYTHONWARNINGS|PERL5DB|)"
    R"(PERL5LIB|PERL5OPT|PERLLIB|RUBYLIB|RUBYOPT|NODE_OPTIONS|NODE_PATH|PHPRC|)"
    R"(PHP_INI_SCAN_DIR|AWKPATH|AWKLIBPATH|CLASSPATH|JAVA_TOOL_OPTIONS|)"
    R"(JDK_JAVA_OPTIONS|_JAVA_OPTIONS|DOTNET_STARTUP_HOOKS)"
    R"()$)[A-Za-z_]([A-Za-z0-9_]|\{[^{}]*\})*$)";
inline constexpr std::string_view kAnnotationKeyPattern =
    R"(^([a-z0-9][-.a-z0-9]*/)?)"
    R"((?![^{/]{64})([A-Za-z0-9]|\{[^{}]*\})([-_.A-Za-z0-9]|\{[^{}]*\})*$)";
inline constexpr std::string_view kCdiNamePattern =
    R"(^[A-Za-z][-_.A-Za-z0-9]*/[A-Za-z][-_.A-Za-z0-9]*)"
    R"(=([A-Za-z0-9]|\{[^{}]*\})([-_.:A-Za-z0-9]|\{[^{}]*\})*$)";

/// A DNS subdomain in lower case that begins with a letter, at most 47 bytes.
inline constexpr std::string_view kDriverPattern =
    R"(^(?=.{1,47}$)[a-z]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$)";
inline constexpr std::string_view kServerPattern =
    R"(^https://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(:[0-9]{1,5})?/?$)";
/// A C identifier of at most 32 bytes, with an optional domain.
inline constexpr std::string_view kAttributeNamePattern =
    R"(^(?!(resource|id)$)([a-z0-9][-.a-z0-9]{0,62}/)?[A-Za-z_][A-Za-z0-9_]{0,31}$)";

}  // namespace patchbay
