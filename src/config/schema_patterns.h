#pragma once

#include <string_view>

namespace patchbay {

/// Formats of texts as ECMA regular expressions for the schema. They accept everything that the
/// parser accepts; the parser checks more, such as the names of variables. Where a template is
/// allowed, a variable `{name:format}` matches in place of any text.
inline constexpr std::string_view kDurationPattern = "^[0-9]+(ms|s|m|h)$";

/// IPv4:port, [IPv6]:port or :port
inline constexpr std::string_view kListenPattern =
    R"(^(\[[0-9A-Fa-f:.]+\]|[0-9]{1,3}(\.[0-9]{1,3}){3})?:[0-9]+$)";

/// A host name, in which * stands for any text.
inline constexpr std::string_view kHostPattern = R"(^[A-Za-z0-9*._-]+$)";

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
/// It begins with a slash or a variable that holds a path.
inline constexpr std::string_view kPathTemplatePattern =
    R"(^(?=/|\{(real_)?path[:}])(?!(.*/)?\.\.(/|$)))"
    R"(([^{}\x00-\x1f\x7f]|\{\{|\}\}|\{[A-Za-z_][A-Za-z0-9_]*(:[^{}]*)?\})*$)";
/// The same, and not the root of the container.
inline constexpr std::string_view kContainerPathPattern =
    R"(^(?=/|\{(real_)?path[:}])(?![/.]*$)(?!(.*/)?\.\.(/|$)))"
    R"(([^{}\x00-\x1f\x7f]|\{\{|\}\}|\{[A-Za-z_][A-Za-z0-9_]*(:[^{}]*)?\})*$)";
/// No name that IsReservedEnv knows.
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

}  // namespace patchbay
