#include "sim/api_server/api_error.h"

#include <utility>

#include "base/format.h"

namespace patchbay::api_sim {
namespace {

/// The reasons of errors that need no further distinction.
constexpr std::pair<int, std::string_view> kReasons[] = {
    {400, "BadRequest"},      {401, "Unauthorized"},         {403, "Forbidden"},
    {404, "NotFound"},        {405, "MethodNotAllowed"},     {409, "Conflict"},
    {410, "Expired"},         {415, "UnsupportedMediaType"}, {422, "Invalid"},
    {429, "TooManyRequests"}, {500, "InternalError"},        {503, "ServiceUnavailable"},
    {504, "Timeout"},
};

}  // namespace

ApiError ErrorFor(int code, std::string message) {
  ApiError error{.code = code, .reason = "", .message = std::move(message)};
  for (const auto& [of_code, reason] : kReasons) {
    if (of_code == code) error.reason = reason;
  }
  return error;
}

ApiFailure BadRequest(std::string message) { return ApiFailure(ErrorFor(400, std::move(message))); }

ApiFailure Expired(std::string message) { return ApiFailure(ErrorFor(410, std::move(message))); }

ApiFailure NotFound(const KindInfo& kind, const std::string& name) {
  return ApiFailure(
      ErrorFor(404, Format("{} \"{}\" not found", kind.WithGroup(kind.plural), name)));
}

ApiFailure AlreadyExists(const KindInfo& kind, const std::string& name) {
  ApiError error =
      ErrorFor(409, Format("{} \"{}\" already exists", kind.WithGroup(kind.plural), name));
  error.reason = "AlreadyExists";
  return ApiFailure(std::move(error));
}

ApiFailure Conflict(const KindInfo& kind, const std::string& name, std::string_view detail) {
  return ApiFailure(ErrorFor(409, Format("Operation cannot be fulfilled on {} \"{}\": {}",
                                         kind.WithGroup(kind.plural), name, detail)));
}

ApiFailure Invalid(const KindInfo& kind, const std::string& name,
                   const std::vector<std::string>& errors) {
  std::string text;
  for (const std::string& error : errors) text += (text.empty() ? "" : ", ") + error;
  if (errors.size() > 1) text = "[" + text + "]";
  return ApiFailure(
      ErrorFor(422, Format("{} \"{}\" is invalid: {}", kind.WithGroup(kind.name), name, text)));
}

Json StatusOf(const ApiError& error) {
  Json status{{"kind", "Status"},    {"apiVersion", "v1"},       {"metadata", Json::object()},
              {"status", "Failure"}, {"message", error.message}, {"code", error.code}};
  if (!error.reason.empty()) status["reason"] = error.reason;
  return status;
}

std::string Dump(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace patchbay::api_sim
