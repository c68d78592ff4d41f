// Health streams of one server, read by real clients.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/format.h"
#include "dra_test_support.h"
#include "drahealth_v1.grpc.pb.h"
#include "drahealth_v1alpha1.grpc.pb.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Returns the time as the API has it.
std::int64_t SecondsNow() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// A stream on its own connection.
template <class Service, class Response>
class HealthClient {
 public:
  explicit HealthClient(const std::string& socket)
      : stub_(test::ConnectToDriver<Service>(socket)),
        stream_(stub_->NodeWatchResources(context_.get(), {})) {}
  ~HealthClient() {
    context_->TryCancel();
    if (stream_) Finish();
  }
  HealthClient(const HealthClient&) = delete;
  HealthClient& operator=(const HealthClient&) = delete;

  /// Returns the devices of the next list as text; nothing if the stream has ended.
  std::vector<std::string> Read() {
    std::vector<std::string> devices;
    if (!stream_->Read(&list_)) return devices;
    for (const auto& device : list_.devices()) {
      devices.push_back(Format("{}/{} {} {}", device.device().pool_name(),
                               device.device().device_name(), static_cast<int>(device.health()),
                               device.message()));
    }
    return devices;
  }
  /// The list that was read last.
  const Response& list() const { return list_; }
  grpc::Status Finish() { return std::exchange(stream_, nullptr)->Finish(); }

 private:
  const std::unique_ptr<grpc::ClientContext> context_ = test::DraContext();
  const std::unique_ptr<typename Service::Stub> stub_;
  std::unique_ptr<grpc::ClientReader<Response>> stream_;
  Response list_;
};
using ClientV1 = HealthClient<::v1::DRAResourceHealth, ::v1::NodeWatchResourcesResponse>;
using ClientV1alpha1 =
    HealthClient<::v1alpha1::DRAResourceHealth, ::v1alpha1::NodeWatchResourcesResponse>;

class NoClaims : public ClaimService {
 public:
  void Prepare(std::vector<ClaimKey>, ClaimCall, std::function<void(ClaimResults)>) override {}
  void Unprepare(std::vector<ClaimKey>, ClaimCall, std::function<void(ClaimResults)>) override {}
};

std::shared_ptr<const HealthList> HealthOf(const std::string& device,
                                           Health health = Health::kHealthy,
                                           const std::string& message = "") {
  return std::make_shared<const HealthList>(
      HealthList{PoolHealth{"pool", {{device, health, message}}}});
}

class HealthStreamTest : public test::DraTest {
 protected:
  void Start(std::shared_ptr<const HealthList> first) {
    server_ = std::make_unique<test::TestDriver>(
        tree_.path("dra.sock"), DriverBackend{.driver = "gpu.example.com",
                                              .claims = std::make_shared<NoClaims>(),
                                              .observer = observer_});
    server_->streams.Offer(std::move(first));
  }

  test::TempTree tree_;
  const std::shared_ptr<test::RecordingDriverObserver> observer_ =
      std::make_shared<test::RecordingDriverObserver>();
  std::unique_ptr<test::TestDriver> server_;
};

TEST_F(HealthStreamTest, SendsTheListAtStartAndOnEachChange) {
  Start(HealthOf("a"));
  const auto before = SecondsNow();
  ClientV1 client(server_->socket());
  EXPECT_THAT(client.Read(), ElementsAre("pool/a 1 "));
  EXPECT_GE(client.list().devices(0).last_updated_time(), before);
  EXPECT_LE(client.list().devices(0).last_updated_time(), SecondsNow());
  server_->streams.Offer(HealthOf("a", Health::kUnhealthy, "the probe failed"));
  EXPECT_THAT(client.Read(), ElementsAre("pool/a 2 the probe failed"));
  server_->streams.Offer(HealthOf("b"));
  EXPECT_THAT(client.Read(), ElementsAre("pool/b 1 "));
}

TEST_F(HealthStreamTest, WaitsForTheFirstList) {
  Start(nullptr);
  ClientV1 client(server_->socket());
  ASSERT_TRUE(observer_->Await("1 streams"));
  server_->streams.Resend();
  server_->streams.Offer(HealthOf("a"));
  EXPECT_THAT(client.Read(), ElementsAre("pool/a 1 ")) << "not an empty list first";
}

TEST_F(HealthStreamTest, SendsTheListAgainWithANewTime) {
  Start(HealthOf("a"));
  ClientV1 client(server_->socket());
  EXPECT_THAT(client.Read(), ElementsAre("pool/a 1 "));
  const auto before = SecondsNow();
  server_->streams.Resend();
  EXPECT_THAT(client.Read(), ElementsAre("pool/a 1 "));
  EXPECT_GE(client.list().devices(0).last_updated_time(), before);
}

TEST_F(HealthStreamTest, ServesBothVersionsAtOnce) {
  Start(HealthOf("a"));
  ClientV1 client(server_->socket());
  ClientV1alpha1 alpha(server_->socket());
  EXPECT_THAT(client.Read(), ElementsAre("pool/a 1 "));
  EXPECT_THAT(alpha.Read(), ElementsAre("pool/a 1 "));
  server_->streams.Offer(HealthOf("b", Health::kUnhealthy, "broken"));
  EXPECT_THAT(client.Read(), ElementsAre("pool/b 2 broken"));
  EXPECT_THAT(alpha.Read(), ElementsAre("pool/b 2 broken"));
  EXPECT_TRUE(observer_->Await("2 streams"));
}

// Lists are larger than the flow control window, so writes wait for the reader.
TEST_F(HealthStreamTest, SlowReaderMissesListsButNotTheLast) {
  constexpr int kLists = 200;
  const std::string large(200'000, 'x');
  Start(HealthOf("0", Health::kUnhealthy, large));
  ClientV1 slow(server_->socket());
  ClientV1 fast(server_->socket());
  ASSERT_TRUE(observer_->Await("2 streams"));
  for (int i = 1; i <= kLists; ++i) {
    server_->streams.Offer(HealthOf(std::to_string(i), Health::kUnhealthy, large));
    server_->streams.Resend();
  }
  const std::string last = Format("pool/{} 2 {}", kLists, large);
  const auto read_to_last = [&](ClientV1& client) {
    int read = 0;
    std::vector<std::string> list;
    do {
      list = client.Read();
      ++read;
    } while (!list.empty() && list != std::vector{last});
    return list.empty() ? 0 : read;
  };
  EXPECT_GT(read_to_last(fast), 0) << "it does not wait for the slow one";
  const int read = read_to_last(slow);
  EXPECT_GT(read, 0);
  EXPECT_LT(read, kLists) << "the server kept each list";
}

TEST_F(HealthStreamTest, RejectsStreamsBeyondTheLimit) {
  Start(HealthOf("a"));
  std::vector<std::unique_ptr<ClientV1>> clients;
  for (int i = 0; i < kMaxStreams; ++i) {
    clients.push_back(std::make_unique<ClientV1>(server_->socket()));
    ASSERT_THAT(clients.back()->Read(), ElementsAre("pool/a 1 "));
  }
  {
    ClientV1alpha1 one_more(server_->socket());
    EXPECT_THAT(one_more.Read(), IsEmpty());
    const grpc::Status status = one_more.Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_THAT(status.error_message(), HasSubstr("on this socket (16)"));
  }
  EXPECT_TRUE(observer_->Await("NodeWatchResources RESOURCE_EXHAUSTED"));
  server_->streams.Offer(HealthOf("b"));
  for (const auto& client : clients) EXPECT_THAT(client->Read(), ElementsAre("pool/b 1 "));

  // Another stream is accepted when one of them ends.
  clients.pop_back();
  ASSERT_TRUE(observer_->Await("NodeWatchResources CANCELLED"));
  ASSERT_TRUE(observer_->Await("15 streams", 2));
  ClientV1 next(server_->socket());
  EXPECT_THAT(next.Read(), ElementsAre("pool/b 1 "));
}

TEST_F(HealthStreamTest, RejectsALargeRequest) {
  Start(HealthOf("a"));
  ::v1::NodeWatchResourcesRequest request;
  const auto add_field = [&](std::size_t bytes) {
    auto* const fields = request.GetReflection()->MutableUnknownFields(&request);
    fields->AddLengthDelimited(9, std::string(bytes, 'x'));
  };
  const auto stub = test::ConnectToDriver<::v1::DRAResourceHealth>(server_->socket());
  const auto read = [&] {
    const auto context = test::DraContext();
    const auto stream = stub->NodeWatchResources(context.get(), request);
    ::v1::NodeWatchResourcesResponse list;
    const bool has_list = stream->Read(&list);
    if (has_list) context->TryCancel();
    return std::pair(has_list, stream->Finish().error_code());
  };
  add_field(200 * 1024);
  EXPECT_EQ(read(), std::pair(true, grpc::StatusCode::CANCELLED)) << "of a later version";
  add_field(100 * 1024);
  EXPECT_EQ(read(), std::pair(false, grpc::StatusCode::RESOURCE_EXHAUSTED));
}

TEST_F(HealthStreamTest, EndsWithTheServer) {
  Start(HealthOf("a"));
  ClientV1 client(server_->socket());
  EXPECT_THAT(client.Read(), ElementsAre("pool/a 1 "));
  server_->BeginStop();
  EXPECT_THAT(client.Read(), IsEmpty());
  EXPECT_TRUE(client.Finish().ok());
  EXPECT_TRUE(observer_->Await("NodeWatchResources OK"));
  EXPECT_TRUE(observer_->Await("0 streams"));
}

}  // namespace
}  // namespace patchbay
