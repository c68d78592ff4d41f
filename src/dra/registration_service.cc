#include "dra/registration_service.h"

#include <cstddef>
#include <utility>

#include "base/escape.h"
#include "dra/reply_report.h"
#include "pluginregistration.pb.h"
#include "rpc/messages.h"
#include "rpc/unary_reply.h"

namespace patchbay {
namespace {

/// The kubelet takes the first version that it supports.
constexpr const char* kSupportedVersions[] = {"v1.DRAPlugin", "v1beta1.DRAPlugin",
                                              "v1.DRAResourceHealth", "v1alpha1.DRAResourceHealth"};
/// A report has one short text.
constexpr std::size_t kMaxReportBytes = 64 * 1024;
constexpr std::size_t kMaxRegistrationError = 1000;

Status FromMessage(const pluginregistration::RegistrationStatus& report) {
  if (report.plugin_registered()) return {};
  if (report.error().empty()) {
    return Fail(ErrorKind::kInvalid, "the kubelet gave no reason; check the kubelet log");
  }
  return Fail(ErrorKind::kInvalid, Truncate(report.error(), kMaxRegistrationError));
}

pluginregistration::PluginInfo InfoOf(std::string driver, std::string endpoint) {
  pluginregistration::PluginInfo info;
  info.set_type("DRAPlugin");
  info.set_name(std::move(driver));
  info.set_endpoint(std::move(endpoint));
  for (const char* version : kSupportedVersions) info.add_supported_versions(version);
  return info;
}

}  // namespace

RpcHandlers RegistrationHandlers(std::string driver, std::string endpoint,
                                 std::shared_ptr<DriverObserver> observer,
                                 OnDriverRegistration on_status) {
  const auto get_info = [observer, info = InfoOf(std::move(driver), std::move(endpoint))](
                            ServerCall& call, const auto&) {
    UnaryReply::Begin(call, ReportTo(observer, DriverRpc::kGetInfo))->Finish({}, [&info] {
      return Serialize(info);
    });
  };
  const auto on_report = [observer, on_status = std::move(on_status)](ServerCall& call,
                                                                      const auto& report) {
    const auto reply =
        UnaryReply::Begin(call, ReportTo(observer, DriverRpc::kNotifyRegistrationStatus));
    const Status status = FromMessage(report);
    observer->OnRegistration(status);
    on_status(status);
    reply->Finish({});
  };
  return {
      {"/pluginregistration.Registration/GetInfo",
       HandlerOf<pluginregistration::InfoRequest>(kMaxReportBytes, get_info)},
      {"/pluginregistration.Registration/NotifyRegistrationStatus",
       HandlerOf<pluginregistration::RegistrationStatus>(kMaxReportBytes, on_report)},
  };
}

}  // namespace patchbay
