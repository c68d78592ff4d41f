#include "kube/response_reader.h"

#include <gmock/gmock.h>

#include <string>

namespace patchbay {
namespace {

using testing::HasSubstr;

constexpr ResponseLimits kSmall{.header = 200, .body = 20, .body_of_error = 10};

/// The body of a response that arrives in parts of `part` bytes; its error otherwise.
std::string ReadAll(const std::string& text, std::size_t part, bool ends = false) {
  ResponseReader reader(kSmall);
  std::string body;
  for (std::size_t at = 0; at < text.size(); at += part) {
    if (const Status fed = reader.Feed(std::string_view(text).substr(at, part)); !fed) {
      return "error: " + fed.error().message;
    }
    body += reader.TakeBody();
  }
  if (ends) {
    if (const Status finished = reader.Finish(); !finished) {
      return "error: " + finished.error().message;
    }
  }
  return reader.is_done() ? std::to_string(reader.status()) + " " + body : "incomplete";
}

TEST(ResponseReader, ReadsBodiesOfAnyFraming) {
  const std::string with_length = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
  const std::string chunked =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nA: "
      "b\r\n\r\n";
  const std::string to_end = "HTTP/1.0 200 OK\r\n\r\nhello";
  for (const std::size_t part : {1, 2, 3, 7, 1000}) {
    EXPECT_EQ(ReadAll(with_length, part), "200 hello");
    EXPECT_EQ(ReadAll(chunked, part), "200 hello");
    EXPECT_EQ(ReadAll(to_end, part, true), "200 hello");
    EXPECT_EQ(ReadAll(to_end, part), "incomplete");
    EXPECT_EQ(ReadAll("HTTP/1.1 204 No\r\n\r\n", part), "204 ");
  }
}

TEST(ResponseReader, SkipsInformationalResponses) {
  EXPECT_EQ(ReadAll("HTTP/1.1 100 Continue\r\nA: b\r\n\r\nHTTP/1.1 103 Hints\r\n\r\n"
                    "HTTP/1.1 404 No\r\nContent-Length: 1\r\n\r\nx",
                    1),
            "404 x");
  std::string endless;
  for (int i = 0; i < 20; ++i) endless += "HTTP/1.1 100 Continue\r\n\r\n";
  EXPECT_THAT(ReadAll(endless, 7), HasSubstr("header is longer than 200 bytes"));
}

TEST(ResponseReader, ReportsTheConnectionEnd) {
  for (const char* text :
       {"HTTP/1.1 200 OK\r\nConte", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n"}) {
    EXPECT_THAT(ReadAll(text, 4, true), HasSubstr("ended within the response"));
  }
  ResponseReader reader(kSmall);
  EXPECT_FALSE(reader.has_begun());
  EXPECT_THAT(reader.Finish().error().message, HasSubstr("ended before the response"));
}

TEST(ResponseReader, LimitsTheHeader) {
  const std::string start = "HTTP/1.1 200 OK\r\n";
  std::string fields;
  for (int i = 0; i < 30; ++i) fields += "A: bbbbbbbb\r\n";
  for (const std::size_t part : {1, 12, 150, 1000}) {
    EXPECT_THAT(ReadAll(start + fields + "\r\n", part), HasSubstr("longer than 200 bytes"));
    EXPECT_THAT(ReadAll(start + "A: " + std::string(300, 'b'), part), HasSubstr("longer than"));
    EXPECT_THAT(
        ReadAll(start + "Transfer-Encoding: chunked\r\n\r\n1;" + std::string(300, 'x'), part),
        HasSubstr("longer than"));
    EXPECT_THAT(ReadAll(start + "Transfer-Encoding: chunked\r\n\r\n0\r\n" + fields, part),
                HasSubstr("longer than"));
  }
}

TEST(ResponseReader, LimitsTheBody) {
  const auto response = [](int status, std::size_t size) {
    return "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Length: " + std::to_string(size) +
           "\r\n\r\n" + std::string(size, 'x');
  };
  EXPECT_EQ(ReadAll(response(200, 20), 7), "200 " + std::string(20, 'x'));
  EXPECT_THAT(ReadAll(response(200, 21), 7), HasSubstr("body is longer than 20 bytes"));
  EXPECT_EQ(ReadAll(response(500, 10), 7), "500 " + std::string(10, 'x'));
  EXPECT_THAT(ReadAll(response(500, 11), 7), HasSubstr("body is longer than 10 bytes"));
  std::string chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 11; ++i) chunks += "2\r\nxx\r\n";
  EXPECT_THAT(ReadAll(chunks, 1000), HasSubstr("body is longer than 20 bytes"));
  EXPECT_THAT(ReadAll("HTTP/1.0 200 OK\r\n\r\n" + std::string(21, 'x'), 5),
              HasSubstr("body is longer than 20 bytes"));
}

TEST(ResponseReader, RefusesEncodingsThatWereNotRequested) {
  for (const char* field : {"Content-Encoding: gzip", "Content-Encoding: br",
                            "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: gzip"}) {
    EXPECT_THAT(ReadAll("HTTP/1.1 200 OK\r\n" + std::string(field) + "\r\n\r\n", 1000),
                HasSubstr("an encoding that was not requested"));
  }
  EXPECT_EQ(
      ReadAll("HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\nContent-Length: 1\r\n\r\nx", 9),
      "200 x");
}

TEST(ResponseReader, RefusesWhatIsNotHttp) {
  for (const char* text :
       {"SSH-2.0-OpenSSH\r\n\r\n", "HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 99 X\r\n\r\n",
        "HTTP/1.1 200 OK\n\n", "HTTP/1.1 600 X\r\n\r\n", "HTTP/1.1 099 X\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"}) {
    EXPECT_THAT(ReadAll(text, 1000), HasSubstr("response is not valid")) << text;
  }
}

TEST(ResponseReader, KeepsTheConnectionOnlyAfterACompleteResponse) {
  const auto keeps = [](const std::string& text) {
    ResponseReader reader(kSmall);
    EXPECT_TRUE(reader.Feed(text));
    EXPECT_TRUE(reader.is_done());
    return reader.keeps_alive();
  };
  EXPECT_TRUE(keeps("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"));
  EXPECT_FALSE(keeps("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxy"));
  EXPECT_FALSE(keeps("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx"));
  EXPECT_FALSE(keeps("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx"));
}

TEST(ResponseReader, ReturnsRetryAfter) {
  ResponseReader reader(kSmall);
  EXPECT_TRUE(
      reader.Feed("HTTP/1.1 429 X\r\nRetry-After: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
                  "0\r\nRetry-After: 9\r\n\r\n"));
  EXPECT_TRUE(reader.is_done());
  EXPECT_EQ(reader.retry_after(), "3");
}

}  // namespace
}  // namespace patchbay
