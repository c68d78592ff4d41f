#include "dra/registration_server.h"

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

}  // namespace

class RegistrationServer::Service {
 public:
  Service(pluginregistration::PluginInfo info, std::shared_ptr<DriverObserver> observer,
          OnStatus on_status)
      : info_(std::move(info)), observer_(std::move(observer)), on_status_(std::move(on_status)) {}

  RpcHandlers Handlers() {
    return {
        {"/pluginregistration.Registration/GetInfo",
         HandlerOf<pluginregistration::InfoRequest>(
             kMaxReportBytes, [this](ServerCall& call, const auto&) { GetInfo(call); })},
        {"/pluginregistration.Registration/NotifyRegistrationStatus",
         HandlerOf<pluginregistration::RegistrationStatus>(
             kMaxReportBytes,
             [this](ServerCall& call, const auto& report) { OnReport(call, report); })},
    };
  }

 private:
  void GetInfo(ServerCall& call) {
    UnaryReply::Begin(call, ReportTo(observer_, DriverRpc::kGetInfo))->Finish({}, [this] {
      return Serialize(info_);
    });
  }

  void OnReport(ServerCall& call, const pluginregistration::RegistrationStatus& report) {
    const auto reply =
        UnaryReply::Begin(call, ReportTo(observer_, DriverRpc::kNotifyRegistrationStatus));
    const Status status = FromMessage(report);
    observer_->OnRegistration(status);
    on_status_(status);
    reply->Finish({});
  }

  const pluginregistration::PluginInfo info_;
  const std::shared_ptr<DriverObserver> observer_;
  const OnStatus on_status_;
};

RegistrationServer::RegistrationServer() = default;
RegistrationServer::~RegistrationServer() = default;

Result<std::unique_ptr<RegistrationServer>> RegistrationServer::Start(
    std::shared_ptr<RpcServer> rpc, std::string socket, std::string driver, std::string endpoint,
    std::shared_ptr<DriverObserver> observer, OnStatus on_status) {
  pluginregistration::PluginInfo info;
  info.set_type("DRAPlugin");
  info.set_name(std::move(driver));
  info.set_endpoint(std::move(endpoint));
  for (const char* version : kSupportedVersions) info.add_supported_versions(version);
  std::unique_ptr<RegistrationServer> registration(new RegistrationServer());
  registration->service_ =
      std::make_unique<Service>(std::move(info), std::move(observer), std::move(on_status));
  registration->server_ =
      TRY(UnixServer::Start(std::move(rpc), std::move(socket), registration->service_->Handlers()));
  return registration;
}

}  // namespace patchbay
