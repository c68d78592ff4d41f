#include "kube/api_status.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/format.h"
#include "base/json.h"
#include "base/number.h"
#include "kube/server_text.h"

namespace patchbay {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxReasonBytes = 64;
constexpr std::size_t kMaxMessageRead = 64 << 10;
constexpr std::size_t kMaxMessageBytes = 1024;
constexpr int kMaxStatusCode = 599;

constexpr std::string_view kOfARedirect =
    "the API server redirects no request, so a proxy or load balancer answered; use the address of "
    "the API server itself for server of [daemon.kubernetes], or for KUBERNETES_SERVICE_HOST in "
    "a pod";

/// The next step for the administrator.
constexpr std::pair<unsigned, std::string_view> kNextSteps[] = {
    {301, kOfARedirect},
    {302, kOfARedirect},
    {303, kOfARedirect},
    {307, kOfARedirect},
    {308, kOfARedirect},
    {401,
     "the API server does not accept the credentials; check the token or the client "
     "certificate, and that it has not expired"},
    {403, "grant the permission to the service account or user"},
    {404, "check that the object exists, and that the API server serves this API"},
    {422,
     "change the device, attribute or name in the configuration that the message is about; if "
     "there is none, report it as a bug of Patchbay"},
};

/// metav1.StatusReason. Any other text can be a part of a token.
constexpr std::string_view kReasons[] = {
    "Unauthorized",      "Forbidden",       "NotFound",
    "AlreadyExists",     "Conflict",        "Gone",
    "Invalid",           "ServerTimeout",   "StoreReadError",
    "Timeout",           "TooManyRequests", "BadRequest",
    "MethodNotAllowed",  "NotAcceptable",   "RequestEntityTooLarge",
    "InternalError",     "Expired",         "UnsupportedMediaType",
    "ServiceUnavailable"};

/// The members of a Status that are used.
struct StatusObject {
  unsigned code = 0;
  std::string reason;
  std::string message;
};

/// Returns nothing if the value is not a Status. Members that are not valid are left out.
std::optional<StatusObject> ReadStatus(const Json& json) {
  if (TextMember(json, "kind", kMaxReasonBytes).value_or("") != "Status") return std::nullopt;
  StatusObject status;
  const auto code = CountMember(json, "code");
  if (code && *code <= kMaxStatusCode) status.code = static_cast<unsigned>(*code);
  const auto reason = TextMember(json, "reason", kMaxReasonBytes);
  if (reason && std::ranges::find(kReasons, *reason) != std::end(kReasons)) status.reason = *reason;
  if (const auto message = TextMember(json, "message", kMaxMessageRead)) {
    status.message = CleanServerText(*message, kMaxMessageBytes);
  }
  return status;
}

ApiError ErrorOfStatus(unsigned code, StatusObject status) {
  std::string message = Format("HTTP status {}", code);
  if (!status.message.empty()) message += ": " + status.message;
  const auto* step = std::ranges::find(kNextSteps, code, [](const auto& row) { return row.first; });
  if (step != std::end(kNextSteps)) message += Format("; {}", step->second);
  return {.kind = ApiErrorKind::kStatus,
          .message = std::move(message),
          .status = code,
          .reason = std::move(status.reason)};
}

}  // namespace

std::optional<std::chrono::seconds> ParseRetryAfter(std::string_view value) {
  if (value.empty() || value.size() > 9 || !std::ranges::all_of(value, IsDigit)) {
    return std::nullopt;
  }
  const auto seconds = ParseNumber<std::chrono::seconds::rep>(value).value_or(0);
  return std::min(std::chrono::seconds(seconds), kMaxRetryAfter);
}

ApiError ErrorOfResponse(unsigned status, std::string_view retry_after, std::string_view body) {
  const auto json = ParseJson(body);
  ApiError error =
      ErrorOfStatus(status, ReadStatus(json ? *json : Json()).value_or(StatusObject()));
  error.retry_after = ParseRetryAfter(retry_after);
  return error;
}

ApiError ErrorOfEvent(const Json& object) {
  auto status = ReadStatus(object);
  if (!status || status->code < 400 || status->code > 599) {
    return {.kind = ApiErrorKind::kResponse,
            .message =
                "an ERROR event of the watch is not a valid Status object; check that "
                "server is the address of a Kubernetes API server"};
  }
  const unsigned code = status->code;
  return ErrorOfStatus(code, *std::move(status));
}

}  // namespace patchbay
