#include "api_server_sim/api_error.h"

namespace patchbay::api_sim {
namespace {

struct CodeAndReason {
  int code;
  std::string_view reason;
};

/// The reasons of errors that need no further distinction. Conflicts and expirations have others.
constexpr CodeAndReason kReasons[] = {
    {400, "BadRequest"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "NotFound"},
    {405, "MethodNotAllowed"},
    {406, "NotAcceptable"},
    {409, "Conflict"},
    {410, "Expired"},
    {413, "RequestEntityTooLarge"},
    {415, "UnsupportedMediaType"},
    {422, "Invalid"},
    {429, "TooManyRequests"},
    {500, "InternalError"},
    {503, "ServiceUnavailable"},
    {504, "Timeout"},
};

Json DetailsOf(const ApiError& error) {
  Json details = Json::object();
  const auto set = [&](const char* key, const std::string& value) {
    if (!value.empty()) details[key] = value;
  };
  set("name", error.name);
  set("group", error.group);
  set("kind", error.kind);
  set("uid", error.uid);
  for (const Cause& cause : error.causes) {
    Json entry{{"reason", cause.reason}, {"message", cause.message}};
    if (!cause.field.empty()) entry["field"] = cause.field;
    details["causes"].push_back(std::move(entry));
  }
  if (error.retry_after) details["retryAfterSeconds"] = error.retry_after->count();
  return details;
}

}  // namespace

ApiError ErrorFor(int code, std::string message) {
  ApiError error{.code = code, .reason = "", .message = std::move(message)};
  for (const CodeAndReason& row : kReasons) {
    if (row.code == code) error.reason = row.reason;
  }
  return error;
}

ApiFailure BadRequest(std::string message) { return ApiFailure(ErrorFor(400, std::move(message))); }

ApiFailure Expired(std::string message) { return ApiFailure(ErrorFor(410, std::move(message))); }

Json StatusOf(const ApiError& error) {
  Json status{{"kind", "Status"},    {"apiVersion", "v1"},       {"metadata", Json::object()},
              {"status", "Failure"}, {"message", error.message}, {"code", error.code}};
  if (!error.reason.empty()) status["reason"] = error.reason;
  if (Json details = DetailsOf(error); !details.empty()) status["details"] = std::move(details);
  return status;
}

std::string Dump(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace patchbay::api_sim
