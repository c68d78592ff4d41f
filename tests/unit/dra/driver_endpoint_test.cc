// A driver in a temporary kubelet directory, on a loop with a simulated clock, and a client that
// does what the kubelet does.

#include "dra/driver_endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <functional>
#include <future>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "dra_test_support.h"
#include "drahealth_v1.grpc.pb.h"
#include "draplugin_v1.grpc.pb.h"
#include "pluginregistration.grpc.pb.h"
#include "rpc/socket_file.h"
#include "support/fake_loop.h"
#include "support/hanging_mount.h"
#include "support/rpc_server.h"
#include "support/temp_tree.h"
#include "support/unix_socket.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
namespace dra_v1 = k8s::io::kubelet::pkg::apis::dra::v1;
using pluginregistration::Registration;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Prepares every claim at once, or keeps one call.
class EndpointClaims : public ClaimService {
 public:
  void Prepare(std::vector<ClaimKey> claims, ClaimCall,
               std::function<void(ClaimResults)> done) override {
    ClaimResults results;
    for (const ClaimKey& claim : claims) {
      results.emplace(claim.uid,
                      std::vector<PreparedRequest>{
                          {.request = "r", .devices = {{.pool = "pool", .device = name}}}});
    }
    if (!holds) return done(std::move(results));
    held.set_value([results = std::move(results), done = std::move(done)] { done(results); });
  }
  void Unprepare(std::vector<ClaimKey>, ClaimCall,
                 std::function<void(ClaimResults)> done) override {
    done({});
  }

  std::string name = "dev";
  bool holds = false;
  std::promise<std::function<void()>> held;
};

/// Records the order in which sockets are created and removed in several directories.
class SocketOrder {
 public:
  explicit SocketOrder(const std::vector<std::string>& directories) {
    for (const std::string& directory : directories) {
      EXPECT_GE(inotify_add_watch(fd_.get(), directory.c_str(), IN_CREATE | IN_DELETE), 0);
    }
  }
  /// Returns the events since the last call: "+name" and "-name".
  std::vector<std::string> Take() {
    std::vector<std::string> events;
    alignas(inotify_event) std::array<char, 16384> buffer;
    const ssize_t size = read(fd_.get(), buffer.data(), buffer.size());
    for (ssize_t at = 0; at < size;) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof event);
      const char* name = buffer.data() + at + sizeof event;
      events.push_back(((event.mask & IN_CREATE) != 0 ? "+" : "-") + std::string(name));
      at += static_cast<ssize_t>(sizeof event + event.len);
    }
    return events;
  }

 private:
  const UniqueFd fd_{inotify_init1(IN_NONBLOCK | IN_CLOEXEC)};
};

class DriverEndpointTest : public test::DraTest {
 protected:
  DriverEndpointTest() {
    tree_.Dir("plugins_registry");
    tree_.Dir("plugins");
  }

  struct Instance {
    std::shared_ptr<EndpointClaims> claims = std::make_shared<EndpointClaims>();
    /// Returns how often `report` was the report about the sockets: "serving" or the reason.
    std::ptrdiff_t Count(const std::string& report) const {
      return std::ranges::count(sockets, report);
    }
    bool is_serving() const { return !sockets.empty() && sockets.back() == "serving"; }
    std::vector<std::string> sockets;
    std::vector<std::string> hangs;  ///< the reasons, and "" at their ends
    int registered = 0;
    std::vector<std::string> rejections;
    std::unique_ptr<DriverEndpoint> endpoint;
  };

  std::unique_ptr<Instance> Make(const std::string& pod_uid = "") {
    auto instance = std::make_unique<Instance>();
    instance->endpoint = std::make_unique<DriverEndpoint>(
        DriverEndpoint::Dependencies{loop_, pool_, log_, rpc_},
        SocketsOf({tree_.path(), "a.b", pod_uid}),
        DriverBackend{.driver = "a.b",
                      .claims = instance->claims,
                      .observer = std::make_shared<test::RecordingDriverObserver>()},
        DriverEndpoint::Events{
            .on_registration =
                [&made = *instance](const Status& status) {
                  if (status) ++made.registered;
                  if (!status) made.rejections.push_back(status.error().message);
                },
            .on_sockets =
                [&made = *instance](const Status& status) {
                  made.sockets.push_back(status ? "serving" : status.error().message);
                },
            .on_hang = [&made = *instance](const std::string& why) { made.hangs.push_back(why); }});
    return instance;
  }
  std::unique_ptr<Instance> Serve(const std::string& pod_uid = "") {
    auto instance = Make(pod_uid);
    instance->endpoint->Start();
    EXPECT_TRUE(Await([&] { return instance->is_serving(); })) << text_.str();
    return instance;
  }
  void End(Instance& instance) {
    bool ended = false;
    instance.endpoint->End([&] { ended = true; });
    EXPECT_TRUE(Await([&] { return ended; }));
  }

  /// Runs the loop until `done` holds, while virtual time passes in steps.
  bool Await(const std::function<bool()>& done, std::chrono::milliseconds step = 100ms) {
    const auto give_up = std::chrono::steady_clock::now() + test::kDraPatience;
    while (!done() && std::chrono::steady_clock::now() < give_up) {
      loop_.Advance(step);
      if (!done()) loop_.RunUntil(done, 10ms);
    }
    return done();
  }

  /// Registers the driver as the kubelet does. Returns the path of its other socket.
  std::string Register(const DriverEndpoint& endpoint) {
    const auto stub = test::ConnectToDriver<Registration>(endpoint.sockets().registration);
    pluginregistration::PluginInfo info;
    EXPECT_TRUE(stub->GetInfo(test::DraContext().get(), {}, &info).ok());
    EXPECT_EQ(info.name(), "a.b");
    Notify(endpoint, true, "");
    return info.endpoint();
  }
  static void Notify(const DriverEndpoint& endpoint, bool registered, const std::string& error) {
    const auto stub = test::ConnectToDriver<Registration>(endpoint.sockets().registration);
    pluginregistration::RegistrationStatus status;
    status.set_plugin_registered(registered);
    status.set_error(error);
    pluginregistration::RegistrationStatusResponse response;
    EXPECT_TRUE(stub->NotifyRegistrationStatus(test::DraContext().get(), status, &response).ok());
  }
  /// Prepares a claim. Returns the name of its device, or the error.
  static std::string Prepare(const std::string& socket) {
    const auto stub = test::ConnectToDriver<dra_v1::DRAPlugin>(socket);
    dra_v1::NodePrepareResourcesRequest request;
    auto& claim = *request.add_claims();
    claim.set_uid("u");
    claim.set_namespace_("ns");
    claim.set_name("c");
    dra_v1::NodePrepareResourcesResponse response;
    const grpc::Status status =
        stub->NodePrepareResources(test::DraContext().get(), request, &response);
    if (!status.ok()) return status.error_message();
    return response.claims().at("u").devices(0).device_name();
  }
  std::vector<std::string> Sockets() const {
    std::vector<std::string> sockets;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(tree_.path())) {
      if (entry.is_socket()) sockets.push_back(entry.path().filename());
    }
    return sockets;
  }

  test::TempTree tree_;
  test::FakeLoop loop_;
  const std::shared_ptr<RpcServer> rpc_ = test::StartRpc();
  ThreadPool pool_{loop_, {.max_running = 2, .patience = 1h}};
  std::ostringstream text_;
  Log log_{LogLevel::kDebug, LogFormat::kText, text_};
};

TEST_F(DriverEndpointTest, RegistrationSocketIsCreatedLastAndRemovedFirst) {
  tree_.Dir("plugins/a.b");
  SocketOrder order({tree_.path("plugins/a.b"), tree_.path("plugins_registry")});
  const auto instance = Serve();
  EXPECT_THAT(order.Take(), ElementsAre("+dra.sock", "+a.b-reg.sock"));
  End(*instance);
  EXPECT_THAT(order.Take(), ElementsAre("-a.b-reg.sock", "-dra.sock"));
}

TEST_F(DriverEndpointTest, IsRegisteredAndAnswers) {
  const auto instance = Serve();
  const std::string endpoint = Register(*instance->endpoint);
  EXPECT_EQ(endpoint, tree_.path("plugins/a.b/dra.sock"));
  EXPECT_EQ(Prepare(endpoint), "dev");
  EXPECT_TRUE(Await([&] { return instance->registered == 1; }));
  EXPECT_THAT(text_.str(), HasSubstr("driver registered"));

  Register(*instance->endpoint);  // the kubelet has restarted
  EXPECT_TRUE(Await([&] { return instance->registered == 2; }));
}

TEST_F(DriverEndpointTest, ReportsARejectionOnceUntilTheKubeletTriesAgain) {
  const auto instance = Serve();
  Notify(*instance->endpoint, false, "no common version");
  Notify(*instance->endpoint, false, "no common version");
  EXPECT_TRUE(Await([&] { return instance->rejections.size() == 2; })) << "is counted";
  EXPECT_EQ(instance->rejections.front(), "no common version");
  Notify(*instance->endpoint, true, "");
  EXPECT_TRUE(Await([&] { return instance->registered == 1; }));
  const std::string text = text_.str();
  const auto first = text.find("the kubelet rejected the driver");
  ASSERT_NE(first, std::string::npos);
  EXPECT_THAT(text.substr(first), HasSubstr("reason=\"no common version\""));
  EXPECT_EQ(text.find("the kubelet rejected the driver", first + 1), std::string::npos);
}

TEST_F(DriverEndpointTest, CreatesTheDirectoryOfTheDriverForItsOwner) {
  const auto instance = Serve();
  const auto mode = std::filesystem::status(tree_.path("plugins/a.b")).permissions();
  EXPECT_EQ(mode & std::filesystem::perms::others_all, std::filesystem::perms::none);
}

// The kubelet repeats calls that were canceled.
TEST_F(DriverEndpointTest, CreatesBothSocketsAgainIfOneIsDeleted) {
  for (const char* lost : {"plugins/a.b/dra.sock", "plugins_registry/a.b-reg.sock"}) {
    const auto instance = Serve();
    SocketOrder order({tree_.path("plugins/a.b"), tree_.path("plugins_registry")});
    tree_.Remove(lost);
    EXPECT_TRUE(Await([&] { return instance->Count("serving") == 2; }));
    std::vector<std::string> changes = order.Take();
    ASSERT_THAT(changes, testing::SizeIs(4));
    changes.erase(changes.begin(), changes.begin() + 2);  // the removals
    EXPECT_THAT(changes, ElementsAre("+dra.sock", "+a.b-reg.sock"));
    EXPECT_EQ(Prepare(Register(*instance->endpoint)), "dev");
    EXPECT_THAT(text_.str(), HasSubstr("driver socket was deleted; creating it again driver=a.b "
                                       "socket=" +
                                       tree_.path(lost)));
    End(*instance);
  }
}

TEST_F(DriverEndpointTest, APendingCallIsCanceledWhenASocketIsDeleted) {
  const auto instance = Serve();
  instance->claims->holds = true;
  const std::string dra = instance->endpoint->sockets().dra;
  auto prepared = std::async(std::launch::async, [&] { return Prepare(dra); });
  const auto finish = instance->claims->held.get_future().get();
  tree_.Remove("plugins_registry/a.b-reg.sock");
  EXPECT_TRUE(Await([&] { return instance->Count("serving") == 2; }));
  EXPECT_NE(prepared.get(), "dev");
  finish();
  instance->claims->holds = false;
  EXPECT_EQ(Prepare(Register(*instance->endpoint)), "dev");
}

TEST_F(DriverEndpointTest, CreatesDeletedDirectoriesAgain) {
  const auto instance = Serve();
  tree_.Remove("plugins");
  EXPECT_TRUE(Await([&] { return instance->Count("serving") == 2; }));
  EXPECT_EQ(Prepare(Register(*instance->endpoint)), "dev");
}

TEST_F(DriverEndpointTest, WaitsForTheDirectoryOfTheKubelet) {
  tree_.Remove("plugins_registry");
  const auto instance = Make();
  instance->endpoint->Start();
  EXPECT_TRUE(Await([&] { return text_.str().find("plugins_registry") != std::string::npos; }));
  EXPECT_THAT(text_.str(), HasSubstr("driver sockets cannot be created; retrying"));
  EXPECT_THAT(Sockets(), IsEmpty()) << "it is not served before it can be registered";
  tree_.Dir("plugins_registry");
  EXPECT_TRUE(Await([&] { return instance->is_serving(); }));

  tree_.Remove("plugins_registry");  // while it is served
  EXPECT_TRUE(Await([&] { return !instance->is_serving(); }));
  tree_.Dir("plugins_registry");
  EXPECT_TRUE(Await([&] { return instance->is_serving(); }));
  EXPECT_EQ(Prepare(Register(*instance->endpoint)), "dev");
}

/// Mounts one directory on another until it is destroyed.
class BindMount {
 public:
  BindMount(const std::string& source, std::string target)
      : target_(std::move(target)),
        is_mounted_(mount(source.c_str(), target_.c_str(), nullptr, MS_BIND, nullptr) == 0) {}
  ~BindMount() {
    if (is_mounted_) umount2(target_.c_str(), MNT_DETACH);
  }
  BindMount(const BindMount&) = delete;
  BindMount& operator=(const BindMount&) = delete;

  bool is_mounted() const { return is_mounted_; }

 private:
  const std::string target_;
  const bool is_mounted_;
};

TEST_F(DriverEndpointTest, ReportsADirectoryThatWasRemovedUnderItsMount) {
  tree_.Dir("host");
  const BindMount registry(tree_.path("host"), tree_.path("plugins_registry"));
  if (!registry.is_mounted()) GTEST_SKIP() << "mounting needs root";
  const auto instance = Serve();
  tree_.Remove("host");
  EXPECT_TRUE(Await([&] {
    return instance->sockets.back().find(
               "was removed on the host while it was mounted here; "
               "restart the pod") != std::string::npos;
  }));
  EXPECT_EQ(instance->Count("serving"), 1);
  End(*instance);
}

TEST_F(DriverEndpointTest, ReportsDirectoriesThatHang) {
  tree_.Dir("plugins/a.b");
  const auto instance = Make();
  const std::string reason = tree_.path("plugins/a.b") + " or " + tree_.path("plugins_registry") +
                             " is not responding; check the file systems there";
  const auto hang = [&](int times) {
    test::HangingMount mount(tree_.path("plugins/a.b"));
    if (!mount.why_not().empty()) return mount.why_not();
    if (times == 1) instance->endpoint->Start();
    if (times == 2) loop_.Advance(10s);  // the next comparison
    EXPECT_TRUE(mount.AwaitHang(test::kDraPatience));
    EXPECT_EQ(std::ranges::count(instance->hangs, reason), times - 1);
    loop_.Advance(10s);
    EXPECT_EQ(std::ranges::count(instance->hangs, reason), times);
    return std::string();
  };
  const std::string why_not = hang(1);
  if (!why_not.empty()) GTEST_SKIP() << why_not;
  EXPECT_TRUE(Await([&] { return instance->is_serving(); })) << text_.str();
  EXPECT_THAT(text_.str(), HasSubstr("driver sockets cannot be accessed"));
  EXPECT_THAT(instance->hangs, ElementsAre(reason, ""));
  hang(2);
  EXPECT_TRUE(Await([&] { return instance->hangs.size() == 4; }));
  EXPECT_THAT(instance->hangs, ElementsAre(reason, "", reason, ""));
  // The sockets cannot be seen through the mount that does not hang any more.
  EXPECT_TRUE(Await([&] { return instance->Count("serving") == 2; }));
  EXPECT_EQ(Prepare(Register(*instance->endpoint)), "dev");
}

TEST_F(DriverEndpointTest, ReplacesSocketsOfAKilledRun) {
  tree_.Dir("plugins/a.b");
  test::BindSocket(tree_.path("plugins/a.b/dra.sock"), false);
  test::BindSocket(tree_.path("plugins_registry/a.b-reg.sock"), false);
  const auto instance = Serve();
  EXPECT_EQ(Prepare(Register(*instance->endpoint)), "dev");
  EXPECT_THAT(text_.str(), HasSubstr("removed stale socket of an earlier run"));
}

TEST_F(DriverEndpointTest, DoesNotTakeTheSocketOfAnotherProcess) {
  tree_.Dir("plugins/a.b");
  UniqueFd other = test::BindSocket(tree_.path("plugins/a.b/dra.sock"), true);
  const auto id = SocketIdentity(tree_.path("plugins/a.b/dra.sock"));
  const auto instance = Make();
  instance->endpoint->Start();
  EXPECT_TRUE(
      Await([&] { return text_.str().find("another process serves") != std::string::npos; }));
  EXPECT_EQ(SocketIdentity(tree_.path("plugins/a.b/dra.sock")), id);
  EXPECT_THAT(text_.str(), HasSubstr("POD_UID"));

  other = UniqueFd();  // the other process ends
  EXPECT_TRUE(Await([&] { return instance->is_serving(); }));
  EXPECT_EQ(Prepare(Register(*instance->endpoint)), "dev");
}

TEST_F(DriverEndpointTest, NamesWhatIsAtThePlaceOfASocket) {
  tree_.File("plugins/a.b/dra.sock");
  tree_.Dir("plugins_registry/a.b-reg.sock");
  const auto instance = Make();
  instance->endpoint->Start();
  const auto logs = [&](const std::string& text) {
    return Await([&] { return text_.str().find(text) != std::string::npos; });
  };
  EXPECT_TRUE(
      logs(tree_.path("plugins/a.b/dra.sock") + " exists and is a file, not a socket; remove it"));
  tree_.Remove("plugins/a.b/dra.sock");
  EXPECT_TRUE(logs(tree_.path("plugins_registry/a.b-reg.sock") +
                   " exists and is a directory, not a socket; remove it"));
  tree_.Remove("plugins_registry/a.b-reg.sock");
  EXPECT_TRUE(Await([&] { return instance->is_serving(); })) << text_.str();
}

TEST_F(DriverEndpointTest, NamesTheMountOfADirectoryThatCannotBeCreated) {
  tree_.Remove("plugins");
  tree_.File("plugins");
  const auto instance = Make();
  instance->endpoint->Start();
  EXPECT_TRUE(Await([&] { return !text_.str().empty(); }));
  EXPECT_THAT(text_.str(), HasSubstr("cannot create the directory " + tree_.path("plugins/a.b") +
                                     "; mount it: in the volume driver of the DaemonSet"));
}

TEST_F(DriverEndpointTest, TwoInstancesOfARollingUpdateServeAtOnce) {
  const std::string old_uid = "11111111-2222-3333-4444-555555555555";
  const std::string new_uid = "99999999-2222-3333-4444-555555555555";
  const auto old_pod = Serve(old_uid);
  const auto new_pod = Serve(new_uid);
  old_pod->claims->name = "of the old pod";
  new_pod->claims->name = "of the new pod";
  EXPECT_EQ(Prepare(Register(*old_pod->endpoint)), "of the old pod");
  EXPECT_EQ(Prepare(Register(*new_pod->endpoint)), "of the new pod");
  End(*old_pod);
  EXPECT_THAT(Sockets(), testing::UnorderedElementsAre("dra-" + new_uid + ".sock",
                                                       "a.b-" + new_uid + "-reg.sock"));
  EXPECT_EQ(Prepare(Register(*new_pod->endpoint)), "of the new pod");
  End(*new_pod);
  EXPECT_THAT(Sockets(), IsEmpty());
  EXPECT_THAT(text_.str(), Not(HasSubstr("deleted")));
}

/// Reads the health of one device, list by list.
class HealthReader {
 public:
  explicit HealthReader(const std::string& socket)
      : stub_(test::ConnectToDriver<::v1::DRAResourceHealth>(socket)),
        stream_(stub_->NodeWatchResources(context_.get(), {})) {}
  ~HealthReader() {
    context_->TryCancel();
    stream_->Finish();
  }
  HealthReader(const HealthReader&) = delete;
  HealthReader& operator=(const HealthReader&) = delete;

  /// Returns the message of the device in the next list, or "ended".
  std::string Read() {
    ::v1::NodeWatchResourcesResponse list;
    return stream_->Read(&list) ? list.devices(0).message() : "ended";
  }

 private:
  const std::unique_ptr<grpc::ClientContext> context_ = test::DraContext();
  const std::unique_ptr<::v1::DRAResourceHealth::Stub> stub_;
  const std::unique_ptr<grpc::ClientReader<::v1::NodeWatchResourcesResponse>> stream_;
};

HealthList OneDevice(const std::string& message, const std::string& pool = "pool") {
  return {PoolHealth{pool, {{"dev", Health::kUnhealthy, message}}}};
}

TEST_F(DriverEndpointTest, HealthIsSentAtStartOnChangeAndAgain) {
  const auto instance = Make();
  instance->endpoint->PublishHealth(OneDevice("before the start"));
  instance->endpoint->Start();
  ASSERT_TRUE(Await([&] { return instance->is_serving(); }));
  HealthReader reader(instance->endpoint->sockets().dra);
  EXPECT_EQ(reader.Read(), "before the start");
  instance->endpoint->PublishHealth(OneDevice("changed"));
  EXPECT_EQ(reader.Read(), "changed");
  loop_.Advance(kHealthResendInterval);
  EXPECT_EQ(reader.Read(), "changed") << "again, before the kubelet regards it as unknown";

  // A list that did not change is not sent.
  instance->endpoint->PublishHealth(OneDevice("changed"));
  instance->endpoint->PublishHealth(OneDevice("last"));
  EXPECT_EQ(reader.Read(), "last");
}

TEST_F(DriverEndpointTest, HealthIsKeptWhenSocketsAreCreatedAgain) {
  const auto instance = Serve();
  instance->endpoint->PublishHealth(OneDevice("why"));
  tree_.Remove("plugins/a.b/dra.sock");
  ASSERT_TRUE(Await([&] { return instance->Count("serving") == 2; }));
  HealthReader reader(instance->endpoint->sockets().dra);
  EXPECT_EQ(reader.Read(), "why");
}

TEST_F(DriverEndpointTest, LogsDevicesThatDoNotFitIntoTheList) {
  const auto instance = Make();
  instance->endpoint->PublishHealth(OneDevice("why", std::string(4 << 20, 'p')));
  EXPECT_THAT(text_.str(), HasSubstr("left_out=1"));
}

TEST_F(DriverEndpointTest, CanEndAtEachStepOfItsStart) {
  for (int steps = 0; steps < 3; ++steps) {
    const auto instance = Make();
    instance->endpoint->Start();
    int left = steps;  // results of the pool: it starts servers, it compares sockets
    ASSERT_TRUE(loop_.RunUntil([&] { return left-- <= 0 || instance->is_serving(); }));
    End(*instance);
    EXPECT_THAT(Sockets(), IsEmpty()) << steps;
  }
}

TEST_F(DriverEndpointTest, CanEndBeforeTheKubeletsDirectoryExists) {
  tree_.Remove("plugins_registry");
  const auto instance = Make();
  instance->endpoint->Start();
  ASSERT_TRUE(Await([&] { return !instance->sockets.empty(); }));
  End(*instance);
  tree_.Dir("plugins_registry");
  loop_.Advance(1min);
  EXPECT_THAT(Sockets(), IsEmpty());
}

TEST_F(DriverEndpointTest, DestructionRemovesTheSockets) {
  auto instance = Serve();
  instance->endpoint.reset();
  EXPECT_TRUE(Await([&] { return Sockets().empty(); }));
}

}  // namespace
}  // namespace patchbay
