// Calls about claims over a real socket, as the kubelet makes them. claim_messages_test.cc tests
// the content of messages, health_stream_test.cc the health of devices.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <vector>

#include "dra_test_support.h"
#include "draplugin_v1.grpc.pb.h"
#include "draplugin_v1beta1.grpc.pb.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
namespace dra_v1 = k8s::io::kubelet::pkg::apis::dra::v1;
namespace dra_v1beta1 = k8s::io::kubelet::pkg::apis::dra::v1beta1;
using grpc::StatusCode;
using testing::ElementsAre;
using testing::HasSubstr;

/// Keeps each call until the test finishes or drops it.
class HeldClaims : public ClaimService {
 public:
  struct Call {
    std::vector<ClaimKey> claims;
    ClaimCall limits;
    std::function<void(ClaimResults)> prepared;
    std::function<void(ClaimResults)> unprepared;
  };

  void Prepare(std::vector<ClaimKey> claims, ClaimCall call,
               std::function<void(ClaimResults)> done) override {
    Hold({std::move(claims), std::move(call), std::move(done), nullptr});
  }
  void Unprepare(std::vector<ClaimKey> claims, ClaimCall call,
                 std::function<void(ClaimResults)> done) override {
    Hold({std::move(claims), std::move(call), nullptr, std::move(done)});
  }

  /// Waits for the next call and returns it. Fails the test if there is none.
  Call Next() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, test::kDraPatience, [this] { return !calls_.empty(); })) {
      ADD_FAILURE() << "no call";
      return {};
    }
    Call first = std::move(calls_.front());
    calls_.erase(calls_.begin());
    return first;
  }
  bool empty() {
    const std::lock_guard lock(mutex_);
    return calls_.empty();
  }

 private:
  void Hold(Call call) {
    const std::lock_guard lock(mutex_);
    calls_.push_back(std::move(call));
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Call> calls_;
};

template <class Request>
Request ClaimsNamed(const std::vector<std::string>& names) {
  Request request;
  for (const std::string& name : names) {
    auto& claim = *request.add_claims();
    claim.set_uid("uid-" + name);
    claim.set_namespace_("ns");
    claim.set_name(name);
  }
  return request;
}

class DriverClaimsTest : public test::DraTest {
 protected:
  DriverClaimsTest() {
    server_ = std::make_unique<test::TestDriver>(tree_.path("dra.sock"),
                                                 DriverBackend{.driver = "gpu.example.com",
                                                               .claims = claims_,
                                                               .observer = observer_,
                                                               .pending = pending_});
    v1_ = test::ConnectToDriver<dra_v1::DRAPlugin>(server_->socket());
  }

  struct Prepared {
    grpc::Status status;
    dra_v1::NodePrepareResourcesResponse response;
  };
  /// Starts a call, with a context that can cancel it.
  std::future<Prepared> Prepare(const std::vector<std::string>& names,
                                grpc::ClientContext& context) {
    return std::async(std::launch::async, [this, names, &context] {
      Prepared prepared;
      prepared.status = v1_->NodePrepareResources(
          &context, ClaimsNamed<dra_v1::NodePrepareResourcesRequest>(names), &prepared.response);
      return prepared;
    });
  }

  test::TempTree tree_;
  const std::shared_ptr<HeldClaims> claims_ = std::make_shared<HeldClaims>();
  const std::shared_ptr<test::RecordingDriverObserver> observer_ =
      std::make_shared<test::RecordingDriverObserver>();
  const std::shared_ptr<PendingCalls> pending_ = std::make_shared<PendingCalls>();
  std::unique_ptr<test::TestDriver> server_;
  std::unique_ptr<dra_v1::DRAPlugin::Stub> v1_;
  const std::unique_ptr<grpc::ClientContext> context_ = test::DraContext();
};

std::vector<PreparedRequest> OneDevice() {
  return {{.request = "r",
           .devices = {{.pool = "pool", .device = "dev", .share_id = "s"}},
           .cdi_devices = {"x.y/z=1"}}};
}

TEST_F(DriverClaimsTest, PreparesClaimsOfV1) {
  auto prepared = Prepare({"a", "b"}, *context_);
  HeldClaims::Call call = claims_->Next();
  EXPECT_THAT(call.claims, ElementsAre(ClaimKey{"uid-a", "ns", "a"}, ClaimKey{"uid-b", "ns", "b"}));
  EXPECT_EQ(pending_->Oldest().value().second, "gpu.example.com");

  ClaimResults results;
  results.emplace("uid-a", OneDevice());
  results.emplace("uid-b", Fail(ErrorKind::kPrecondition, "the device dev-2 is unhealthy"));
  call.prepared(std::move(results));
  const Prepared done = prepared.get();
  ASSERT_TRUE(done.status.ok()) << done.status.error_message();
  ASSERT_EQ(done.response.claims_size(), 2);
  EXPECT_EQ(done.response.claims().at("uid-a").devices(0).share_id(), "s");
  EXPECT_EQ(done.response.claims().at("uid-b").error(), "the device dev-2 is unhealthy");
  EXPECT_TRUE(observer_->Await("NodePrepareResources OK"));
  EXPECT_EQ(pending_->Oldest(), std::nullopt);
}

TEST_F(DriverClaimsTest, UnpreparesClaimsOfV1beta1) {
  const auto beta = test::ConnectToDriver<dra_v1beta1::DRAPlugin>(server_->socket());
  dra_v1beta1::NodeUnprepareResourcesResponse response;
  auto unprepared = std::async(std::launch::async, [&] {
    return beta->NodeUnprepareResources(
        context_.get(), ClaimsNamed<dra_v1beta1::NodeUnprepareResourcesRequest>({"a", "b"}),
        &response);
  });
  HeldClaims::Call call = claims_->Next();
  EXPECT_EQ(call.claims.size(), 2U);
  call.unprepared({{"uid-a", std::vector<PreparedRequest>()},
                   {"uid-b", Fail(ErrorKind::kUnavailable, "hook failed")}});
  ASSERT_TRUE(unprepared.get().ok());
  ASSERT_EQ(response.claims_size(), 2);
  EXPECT_EQ(response.claims().at("uid-a").error(), "");
  EXPECT_EQ(response.claims().at("uid-b").error(), "hook failed");
  EXPECT_TRUE(observer_->Await("NodeUnprepareResources OK"));
}

TEST_F(DriverClaimsTest, PreparesClaimsOfV1beta1AndUnpreparesClaimsOfV1) {
  const auto beta = test::ConnectToDriver<dra_v1beta1::DRAPlugin>(server_->socket());
  dra_v1beta1::NodePrepareResourcesResponse prepared;
  auto prepare = std::async(std::launch::async, [&] {
    return beta->NodePrepareResources(
        context_.get(), ClaimsNamed<dra_v1beta1::NodePrepareResourcesRequest>({"a"}), &prepared);
  });
  claims_->Next().prepared({{"uid-a", OneDevice()}});
  ASSERT_TRUE(prepare.get().ok());
  EXPECT_EQ(prepared.claims().at("uid-a").devices(0).device_name(), "dev");

  dra_v1::NodeUnprepareResourcesResponse unprepared;
  const auto context = test::DraContext();
  auto unprepare = std::async(std::launch::async, [&] {
    return v1_->NodeUnprepareResources(
        context.get(), ClaimsNamed<dra_v1::NodeUnprepareResourcesRequest>({"a"}), &unprepared);
  });
  claims_->Next().unprepared({{"uid-a", std::vector<PreparedRequest>()}});
  ASSERT_TRUE(unprepare.get().ok());
  EXPECT_EQ(unprepared.claims_size(), 1);
}

TEST_F(DriverClaimsTest, ClaimsThatTheServiceForgotHaveFailed) {
  auto prepared = Prepare({"a", "b"}, *context_);
  claims_->Next().prepared({{"uid-a", std::vector<PreparedRequest>{}}});
  const Prepared done = prepared.get();
  ASSERT_TRUE(done.status.ok());
  EXPECT_EQ(done.response.claims().at("uid-a").error(), "");
  EXPECT_THAT(done.response.claims().at("uid-b").error(), HasSubstr("not processed"));
}

TEST_F(DriverClaimsTest, DroppedCallsHaveFailed) {
  auto prepared = Prepare({"a"}, *context_);
  { const HeldClaims::Call dropped = claims_->Next(); }
  const Prepared done = prepared.get();
  ASSERT_TRUE(done.status.ok());
  EXPECT_THAT(done.response.claims().at("uid-a").error(), HasSubstr("not processed"));
}

TEST_F(DriverClaimsTest, OnlyTheFirstResultCounts) {
  auto prepared = Prepare({"a"}, *context_);
  HeldClaims::Call call = claims_->Next();
  call.prepared({{"uid-a", std::vector<PreparedRequest>{}}});
  call.prepared({{"uid-a", Fail(ErrorKind::kInvalid, "too late")}});
  EXPECT_EQ(prepared.get().response.claims().at("uid-a").error(), "");
}

TEST_F(DriverClaimsTest, ACanceledCallIsNotAnswered) {
  auto prepared = Prepare({"a"}, *context_);
  HeldClaims::Call call = claims_->Next();
  context_->TryCancel();
  EXPECT_EQ(prepared.get().status.error_code(), StatusCode::CANCELLED);
  EXPECT_TRUE(observer_->Await("NodePrepareResources CANCELLED"));
  call.prepared({{"uid-a", std::vector<PreparedRequest>{}}});  // has no effect
  EXPECT_EQ(pending_->Oldest(), std::nullopt);

  // The kubelet calls again.
  const auto context = test::DraContext();
  auto again = Prepare({"a"}, *context);
  claims_->Next().prepared({{"uid-a", std::vector<PreparedRequest>{}}});
  EXPECT_EQ(again.get().response.claims().at("uid-a").error(), "");
}

// The deadline lies between the call and its end, plus the time that the caller allows, at any
// load. gRPC rounds it by less than a second.
TEST_F(DriverClaimsTest, DeadlineOfTheKubeletIsPassedOn) {
  using Clock = std::chrono::steady_clock;
  const auto deadline_of = [this](grpc::ClientContext& context) {
    auto prepared = Prepare({"a"}, context);
    HeldClaims::Call call = claims_->Next();
    call.prepared({});
    prepared.get();
    return call.limits.deadline;
  };
  auto before = Clock::now();
  context_->set_deadline(std::chrono::system_clock::now() + 20s);
  const auto twenty = deadline_of(*context_);
  EXPECT_GE(twenty, before + 19s);
  EXPECT_LE(twenty, Clock::now() + 21s);

  before = Clock::now();
  grpc::ClientContext without_deadline;
  const auto longest = deadline_of(without_deadline);
  EXPECT_GE(longest, before + 45s);
  EXPECT_LE(longest, Clock::now() + 46s);
}

TEST_F(DriverClaimsTest, RejectsInvalidClaimsWithoutTheService) {
  dra_v1::NodePrepareResourcesRequest request;
  request.add_claims()->set_uid("../../etc/passwd");
  dra_v1::NodePrepareResourcesResponse response;
  ASSERT_TRUE(v1_->NodePrepareResources(context_.get(), request, &response).ok());
  EXPECT_THAT(response.claims().at("../../etc/passwd").error(), HasSubstr("UID"));
  EXPECT_TRUE(claims_->empty());
}

TEST_F(DriverClaimsTest, AnswersAnEmptyRequest) {
  dra_v1::NodePrepareResourcesResponse response;
  ASSERT_TRUE(v1_->NodePrepareResources(context_.get(), {}, &response).ok());
  EXPECT_EQ(response.claims_size(), 0);
  EXPECT_TRUE(claims_->empty());
}

TEST_F(DriverClaimsTest, BoundsTheNumberOfClaimsAndTheirSize) {
  std::vector<std::string> names;
  for (int i = 0; i < 1000; ++i) names.push_back("claim-" + std::to_string(i));
  const Prepared many = Prepare(names, *context_).get();
  EXPECT_EQ(many.status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(many.status.error_message(), HasSubstr("1000 claims"));

  const auto context = test::DraContext();
  const Prepared large = Prepare({std::string(1 << 20, 'a')}, *context).get();
  EXPECT_EQ(large.status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(claims_->empty());
}

TEST_F(DriverClaimsTest, CallsOutliveTheServer) {
  auto prepared = Prepare({"a"}, *context_);
  HeldClaims::Call call = claims_->Next();
  server_->BeginStop();
  server_.reset();
  EXPECT_FALSE(prepared.get().status.ok());
  call.prepared({{"uid-a", std::vector<PreparedRequest>{}}});  // has no effect
  EXPECT_FALSE(std::filesystem::exists(tree_.path("dra.sock")));
}

}  // namespace
}  // namespace patchbay
