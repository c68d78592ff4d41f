// ApiClient::Watch against a server that sends any bytes. The clock is virtual.

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kube/api_client.h"
#include "unit/kube/client_fixture.h"

namespace patchbay {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using test::Chunk;
using test::JsonReply;
using test::kChunkedHeader;
using test::Reply;
using test::ServerRequest;

class ApiWatch : public test::ClientFixture {};

/// A watch and what it received.
struct Received {
  bool begun = false;
  std::string text;
  std::optional<ApiResult> end;

  WatchFunctions functions() {
    return {.on_begin = [this] { begun = true; },
            .on_part = [this](const std::string& part) { text += part; },
            .on_end = [this](ApiResult result) { end = std::move(result); }};
  }
};

TEST_F(ApiWatch, StreamsAWatch) {
  ServeReplies({{kChunkedHeader}});
  Received received;
  const Subscription watch = client_->Watch(Get(), received.functions());
  ASSERT_TRUE(loop_.RunUntil([&] { return received.begun; }));
  EXPECT_EQ(received.text, "");
  server_->Write(Chunk("one") + Chunk("two"));
  ASSERT_TRUE(loop_.RunUntil([&] { return received.text == "onetwo"; }));
  EXPECT_EQ(Requests(ApiVerb::kWatch, "200"), 1u);
  server_->Write(Chunk(""));
  ASSERT_TRUE(loop_.RunUntil([&] { return received.end.has_value(); }));
  EXPECT_TRUE(received.end->has_value());
  EXPECT_EQ(Requests(ApiVerb::kWatch, "200"), 1u);
}

TEST_F(ApiWatch, AWatchLeavesRoomForRequests) {
  Serve([](const ServerRequest& request) {
    return request.target() == "/watch" ? Reply{kChunkedHeader} : JsonReply(200, "{}");
  });
  std::vector<Received> received(ApiClient::kMaxConnections + 1);
  std::vector<Subscription> watches(received.size());
  for (std::size_t i = 0; i < received.size(); ++i) {
    watches[i] = client_->Watch(Get("/watch"), received[i].functions());
  }
  EXPECT_TRUE(Send());
  EXPECT_TRUE(loop_.RunUntil([&] { return std::ranges::all_of(received, &Received::begun); }));
}

TEST_F(ApiWatch, ReportsARejectedWatch) {
  ServeReplies({JsonReply(410, R"({"kind": "Status", "reason": "Expired", "message": "old"})")});
  Received received;
  const Subscription watch = client_->Watch(Get(), received.functions());
  ASSERT_TRUE(loop_.RunUntil([&] { return received.end.has_value(); }));
  EXPECT_FALSE(received.begun);
  EXPECT_EQ(received.text, "");
  EXPECT_EQ(received.end->error().status, 410u);
}

TEST_F(ApiWatch, EndsASilentWatch) {
  ServeReplies({{kChunkedHeader}});
  Received received;
  const Subscription watch = client_->Watch(Get(), received.functions());
  ASSERT_TRUE(loop_.RunUntil([&] { return received.begun; }));
  loop_.Advance(minutes(2));
  server_->Write(Chunk("x"));
  ASSERT_TRUE(loop_.RunUntil([&] { return received.text == "x"; }));
  loop_.Advance(minutes(3) - seconds(1));
  EXPECT_FALSE(received.end);
  loop_.Advance(seconds(1));
  ASSERT_TRUE(received.end);
  EXPECT_EQ(received.end->error().kind, ApiErrorKind::kTimeout);
  EXPECT_EQ(Requests(ApiVerb::kWatch, "timeout"), 1u);
}

TEST_F(ApiWatch, EndsAWatchThatNeverEnds) {
  ServeReplies({{kChunkedHeader}});
  Received received;
  const Subscription watch = client_->Watch(Get(), received.functions());
  ASSERT_TRUE(loop_.RunUntil([&] { return received.begun; }));
  for (int minute = 1; minute < 6; ++minute) {
    loop_.Advance(minutes(1));
    server_->Write(Chunk("x"));
    ASSERT_TRUE(
        loop_.RunUntil([&] { return received.text.size() == static_cast<std::size_t>(minute); }));
  }
  EXPECT_FALSE(received.end);
  loop_.Advance(minutes(1));
  EXPECT_TRUE(received.end);
}

TEST_F(ApiWatch, LimitsTheBytesOfAWatch) {
  ServeReplies({{kChunkedHeader}});
  ApiRequest request = Get();
  request.max_body = 100;
  Received received;
  const Subscription watch = client_->Watch(request, received.functions());
  ASSERT_TRUE(loop_.RunUntil([&] { return received.begun; }));
  server_->Write(Chunk(std::string(100, 'x')));
  ASSERT_TRUE(loop_.RunUntil([&] { return received.text.size() == 100; }));
  server_->Write(Chunk("y"));
  ASSERT_TRUE(loop_.RunUntil([&] { return received.end.has_value(); }));
  EXPECT_EQ(received.end->error().kind, ApiErrorKind::kResponse);
}

}  // namespace
}  // namespace patchbay
