// Names and field numbers of the kubelet's APIs. Expected bytes are written by hand: the number of
// a field times eight, plus 2 for text and messages and 0 for numbers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "drahealth_v1.grpc.pb.h"
#include "drahealth_v1alpha1.grpc.pb.h"
#include "draplugin_v1.grpc.pb.h"
#include "draplugin_v1beta1.grpc.pb.h"
#include "pluginregistration.grpc.pb.h"

namespace patchbay {
namespace {

namespace dra_v1 = k8s::io::kubelet::pkg::apis::dra::v1;
namespace dra_v1beta1 = k8s::io::kubelet::pkg::apis::dra::v1beta1;

TEST(DraProto, ServicesHaveTheNamesThatTheKubeletCalls) {
  EXPECT_STREQ(pluginregistration::Registration::service_full_name(),
               "pluginregistration.Registration");
  EXPECT_STREQ(dra_v1::DRAPlugin::service_full_name(), "k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin");
  EXPECT_STREQ(dra_v1beta1::DRAPlugin::service_full_name(),
               "k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin");
  EXPECT_STREQ(::v1::DRAResourceHealth::service_full_name(), "v1.DRAResourceHealth");
  EXPECT_STREQ(::v1alpha1::DRAResourceHealth::service_full_name(), "v1alpha1.DRAResourceHealth");
}

TEST(DraProto, ReadsTheRequestOfTheKubelet) {
  const std::string claim = "\x0a\x02ns\x12\x03uid\x1a\x04name";
  const std::string request = "\x0a" + std::string(1, static_cast<char>(claim.size())) + claim;
  dra_v1::NodePrepareResourcesRequest v1_request;
  ASSERT_TRUE(v1_request.ParseFromString(request));
  ASSERT_EQ(v1_request.claims_size(), 1);
  EXPECT_EQ(v1_request.claims(0).namespace_(), "ns");
  EXPECT_EQ(v1_request.claims(0).uid(), "uid");
  EXPECT_EQ(v1_request.claims(0).name(), "name");
  dra_v1beta1::NodeUnprepareResourcesRequest beta_request;
  ASSERT_TRUE(beta_request.ParseFromString(request));
  EXPECT_EQ(beta_request.claims(0).uid(), "uid");
}

TEST(DraProto, WritesTheResponseForTheKubelet) {
  dra_v1::NodePrepareResourcesResponse response;
  auto& device = *(*response.mutable_claims())["u"].add_devices();
  device.add_request_names("r");
  device.set_pool_name("p");
  device.set_device_name("d");
  device.add_cdi_device_ids("c");
  device.set_share_id("s");
  EXPECT_EQ(response.SerializeAsString(),
            "\x0a\x16\x0a\x01u\x12\x11\x0a\x0f"
            "\x0a\x01r\x12\x01p\x1a\x01"
            "d\x22\x01"
            "c\x2a\x01s");
  dra_v1::NodePrepareResourceResponse failed;
  failed.set_error("e");
  EXPECT_EQ(failed.SerializeAsString(),
            "\x12\x01"
            "e");
  dra_v1beta1::NodeUnprepareResourceResponse unprepared;
  unprepared.set_error("e");
  EXPECT_EQ(unprepared.SerializeAsString(),
            "\x0a\x01"
            "e");
}

TEST(DraProto, WritesHealth) {
  ::v1::NodeWatchResourcesResponse response;
  auto& device = *response.add_devices();
  device.mutable_device()->set_pool_name("p");
  device.mutable_device()->set_device_name("d");
  device.set_health(::v1::UNHEALTHY);
  device.set_last_updated_time(5);
  device.set_health_check_timeout_seconds(6);
  device.set_message("m");
  EXPECT_EQ(response.SerializeAsString(),
            "\x0a\x11\x0a\x06\x0a\x01p\x12\x01"
            "d\x10\x02\x18\x05\x20\x06\x2a\x01m");
  ::v1alpha1::NodeWatchResourcesResponse alpha;
  ASSERT_TRUE(alpha.ParseFromString(response.SerializeAsString()));
  EXPECT_EQ(alpha.devices(0).device().device_name(), "d");
  EXPECT_EQ(alpha.devices(0).health(), ::v1alpha1::UNHEALTHY);
  EXPECT_EQ(alpha.devices(0).message(), "m");
}

TEST(DraProto, WritesTheRegistration) {
  pluginregistration::PluginInfo info;
  info.set_type("t");
  info.set_name("n");
  info.set_endpoint("e");
  info.add_supported_versions("v");
  EXPECT_EQ(info.SerializeAsString(),
            "\x0a\x01t\x12\x01n\x1a\x01"
            "e\x22\x01v");
  pluginregistration::RegistrationStatus status;
  ASSERT_TRUE(status.ParseFromString("\x08\x01\x12\x01x"));
  EXPECT_TRUE(status.plugin_registered());
  EXPECT_EQ(status.error(), "x");
}

}  // namespace
}  // namespace patchbay
