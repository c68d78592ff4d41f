#include "dra/registration_server.h"

#include <utility>

#include "base/escape.h"
#include "dra/reply_report.h"
#include "pluginregistration.grpc.pb.h"
#include "rpc/unary_reply.h"

namespace patchbay {
namespace {

/// The kubelet takes the first version that it supports.
constexpr const char* kSupportedVersions[] = {"v1.DRAPlugin", "v1beta1.DRAPlugin",
                                              "v1.DRAResourceHealth", "v1alpha1.DRAResourceHealth"};
/// A report has one short text.
constexpr int kMaxReportBytes = 64 * 1024;
constexpr std::size_t kMaxRegistrationError = 1000;

Status FromMessage(const pluginregistration::RegistrationStatus& report) {
  if (report.plugin_registered()) return {};
  if (report.error().empty()) {
    return Fail(ErrorKind::kInvalid, "the kubelet gave no reason; check the kubelet log");
  }
  return Fail(ErrorKind::kInvalid, Truncate(report.error(), kMaxRegistrationError));
}

}  // namespace

class RegistrationServer::Service final : public pluginregistration::Registration::CallbackService {
 public:
  Service(pluginregistration::PluginInfo info, std::shared_ptr<DriverObserver> observer,
          OnStatus on_status)
      : info_(std::move(info)), observer_(std::move(observer)), on_status_(std::move(on_status)) {}

  grpc::ServerUnaryReactor* GetInfo(grpc::CallbackServerContext*,
                                    const pluginregistration::InfoRequest*,
                                    pluginregistration::PluginInfo* response) override {
    const auto reply = UnaryReply::Begin(ReportTo(observer_, DriverRpc::kGetInfo));
    *response = info_;
    reply->Finish({});
    return reply->reactor();
  }

  grpc::ServerUnaryReactor* NotifyRegistrationStatus(
      grpc::CallbackServerContext*, const pluginregistration::RegistrationStatus* request,
      pluginregistration::RegistrationStatusResponse*) override {
    const auto reply = UnaryReply::Begin(ReportTo(observer_, DriverRpc::kNotifyRegistrationStatus));
    const Status status = FromMessage(*request);
    observer_->OnRegistration(status);
    on_status_(status);
    reply->Finish({});
    return reply->reactor();
  }

 private:
  const pluginregistration::PluginInfo info_;
  const std::shared_ptr<DriverObserver> observer_;
  const OnStatus on_status_;
};

RegistrationServer::RegistrationServer() = default;
RegistrationServer::~RegistrationServer() = default;

Result<std::unique_ptr<RegistrationServer>> RegistrationServer::Start(
    std::string socket, std::string driver, std::string endpoint,
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
      TRY(UnixServer::Start(std::move(socket), {registration->service_.get()}, kMaxReportBytes));
  return registration;
}

}  // namespace patchbay
