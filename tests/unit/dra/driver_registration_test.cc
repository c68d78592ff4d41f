// Registration, requested by a client over a real socket as the kubelet does.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <vector>

#include "dra_test_support.h"
#include "pluginregistration.grpc.pb.h"
#include "rpc/unix_server.h"
#include "support/rpc_server.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using pluginregistration::PluginInfo;
using pluginregistration::Registration;
using testing::ElementsAre;
using testing::HasSubstr;

class DriverRegistrationTest : public test::DraTest {
 protected:
  DriverRegistrationTest() {
    auto server = UnixServer::Start(
        test::StartRpc(), tree_.path("a-reg.sock"),
        RegistrationHandlers(
            {.driver = "gpu.example.com", .claims = nullptr, .observer = observer_},
            "/plugins/gpu.example.com/dra.sock", [this](const Status& status) {
              const std::lock_guard lock(mutex_);
              statuses_.push_back(status);
            }));
    EXPECT_TRUE(server);
    server_ = *std::move(server);
    stub_ = test::ConnectToDriver<Registration>(server_->socket());
  }

  void Notify(bool registered, const std::string& error) {
    pluginregistration::RegistrationStatus report;
    report.set_plugin_registered(registered);
    report.set_error(error);
    pluginregistration::RegistrationStatusResponse response;
    EXPECT_TRUE(stub_->NotifyRegistrationStatus(test::DraContext().get(), report, &response).ok());
  }
  std::vector<Status> statuses() {
    const std::lock_guard lock(mutex_);
    return statuses_;
  }

  test::TempTree tree_;
  const std::shared_ptr<test::RecordingDriverObserver> observer_ =
      std::make_shared<test::RecordingDriverObserver>();
  std::mutex mutex_;
  std::vector<Status> statuses_;
  std::unique_ptr<UnixServer> server_;
  std::unique_ptr<Registration::Stub> stub_;
};

TEST_F(DriverRegistrationTest, DescribesTheDriver) {
  PluginInfo info;
  ASSERT_TRUE(stub_->GetInfo(test::DraContext().get(), {}, &info).ok());
  EXPECT_EQ(info.type(), "DRAPlugin");
  EXPECT_EQ(info.name(), "gpu.example.com");
  EXPECT_EQ(info.endpoint(), "/plugins/gpu.example.com/dra.sock");
  EXPECT_THAT(info.supported_versions(),
              ElementsAre("v1.DRAPlugin", "v1beta1.DRAPlugin", "v1.DRAResourceHealth",
                          "v1alpha1.DRAResourceHealth"))
      << "the kubelet takes the first one that it supports";
  EXPECT_TRUE(observer_->Await("GetInfo OK"));
}

TEST_F(DriverRegistrationTest, ReportsEachResult) {
  Notify(true, "");
  Notify(false, "versions do not match");
  Notify(false, "");
  Notify(true, "");
  const auto results = statuses();
  ASSERT_EQ(results.size(), 4U);
  EXPECT_TRUE(results[0]);
  ASSERT_FALSE(results[1]);
  EXPECT_EQ(results[1].error().message, "versions do not match");
  ASSERT_FALSE(results[2]);
  EXPECT_THAT(results[2].error().message, HasSubstr("check the kubelet log"));
  EXPECT_TRUE(results[3]);
  EXPECT_TRUE(observer_->Await("NotifyRegistrationStatus OK", 4));
}

TEST_F(DriverRegistrationTest, BoundsAndEscapesTheReason) {
  Notify(false, std::string(5000, 'x') + "end");
  Notify(false, "two\nlines");
  const auto results = statuses();
  ASSERT_EQ(results.size(), 2U);
  EXPECT_LT(results[0].error().message.size(), 1100U);
  EXPECT_EQ(results[1].error().message.find('\n'), std::string::npos);
}

TEST_F(DriverRegistrationTest, RejectsAbsurdlyLargeReports) {
  pluginregistration::RegistrationStatus report;
  report.set_error(std::string(1 << 20, 'x'));
  pluginregistration::RegistrationStatusResponse response;
  const grpc::Status status =
      stub_->NotifyRegistrationStatus(test::DraContext().get(), report, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(statuses().empty());
  Notify(true, "");
  EXPECT_EQ(statuses().size(), 1U);
}

}  // namespace
}  // namespace patchbay
