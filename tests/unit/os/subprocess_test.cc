#include "os/subprocess.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

// The header of glibc 2.36 lacks extern "C".
extern "C" {
#include <sys/pidfd.h>
}

#include "support/hanging_mount.h"
#include "support/leftovers.h"
#include "support/temp_tree.h"

namespace {

/// Called on the thread that started a program, before fork returns.
std::function<void(pid_t)> after_spawn;

}  // namespace

/// Overrides the function of the C library.
extern "C" pid_t fork() {
  static const auto real = reinterpret_cast<decltype(&fork)>(dlsym(RTLD_NEXT, "fork"));
  const pid_t pid = real();
  if (pid > 0 && after_spawn) after_spawn(pid);
  return pid;
}

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::chrono::milliseconds kPatience = 20s;

Cancellation NewCancellation() {
  auto cancellation = Cancellation::Create();
  if (!cancellation) throw std::runtime_error(cancellation.error().message);
  return std::move(*cancellation);
}

SubprocessSpec Program(std::vector<std::string> argv,
                       std::chrono::milliseconds timeout = kPatience) {
  SubprocessSpec spec;
  spec.argv = std::move(argv);
  spec.timeout = timeout;
  spec.max_output = 64 * 1024;
  return spec;
}

SubprocessSpec Shell(std::string script, std::chrono::milliseconds timeout = kPatience) {
  return Program({"sh", "-c", std::move(script)}, timeout);
}

/// No test may leave a process or a descriptor.
class SubprocessTest : public testing::Test {
 protected:
  void TearDown() override { leftovers_.ExpectNone(); }

  SubprocessResult Run(const SubprocessSpec& spec) {
    return RunSubprocess(spec, NewCancellation());
  }

  static int ReapOrphans() { return test::Leftovers::ReapOrphans(); }
  static void ExpectGroupGone(pid_t group) {
    ASSERT_GT(group, 1);
    EXPECT_EQ(kill(-group, 0), -1);
    EXPECT_EQ(errno, ESRCH);
  }

 private:
  const test::Leftovers leftovers_;
};

/// A FIFO to which a child writes when it reaches a certain point.
class Milestone {
 public:
  Milestone() {
    if (mkfifo(path().c_str(), 0666) != 0) throw std::runtime_error("mkfifo failed");
    // Opens both ends, so that a child neither blocks nor gets SIGPIPE for lack of a reader.
    fd_ = UniqueFd(open(path().c_str(), O_RDWR | O_CLOEXEC));
  }
  std::string path() const { return tree_.path("reached"); }
  /// Waits until a child writes to it.
  void Await() const {
    pollfd written = {fd_.get(), POLLIN, 0};
    EXPECT_EQ(poll(&written, 1, static_cast<int>(kPatience.count())), 1);
  }

 private:
  test::TempTree tree_;
  UniqueFd fd_;
};

TEST_F(SubprocessTest, ReportsTheExitCode) {
  EXPECT_EQ(Run(Program({"true"})).end, SubprocessEnd::kExited);
  for (const int code : {0, 1, 3, 127, 255}) {
    const SubprocessResult result = Run(Shell("exit " + std::to_string(code)));
    EXPECT_EQ(result.end, SubprocessEnd::kExited);
    EXPECT_EQ(result.code, code);
    EXPECT_EQ(result.error, "");
    EXPECT_FALSE(result.left_behind);
  }
}

TEST_F(SubprocessTest, ReportsTheSignal) {
  for (const int signal : {SIGKILL, SIGTERM, SIGSEGV, SIGALRM}) {
    const SubprocessResult result = Run(Shell("kill -" + std::to_string(signal) + " $$"));
    EXPECT_EQ(result.end, SubprocessEnd::kSignalled);
    EXPECT_EQ(result.code, signal);
  }
}

TEST_F(SubprocessTest, SeparatesStdoutAndStderr) {
  const SubprocessResult result = Run(Shell("echo one; echo wrong >&2; echo two"));
  EXPECT_EQ(result.output, "one\ntwo\n");
  EXPECT_EQ(result.error_output, "wrong\n");
  EXPECT_FALSE(result.output_cut);
}

TEST_F(SubprocessTest, AcceptsAnyByteInOutput) {
  const SubprocessResult result = Run(Program({"printf", R"(a\000\377\n)"}));
  EXPECT_EQ(result.output, std::string("a\0\xff\n", 4));
}

TEST_F(SubprocessTest, KeepsOutputUpToTheMaximum) {
  SubprocessSpec spec = Program({"printf", "12345678"});
  spec.max_output = 8;
  SubprocessResult result = Run(spec);
  EXPECT_EQ(result.end, SubprocessEnd::kExited);
  EXPECT_EQ(result.output, "12345678");
  EXPECT_FALSE(result.output_cut);

  spec.max_output = 7;
  result = Run(spec);
  EXPECT_EQ(result.end, SubprocessEnd::kTooMuchOutput);
  EXPECT_EQ(result.output, "1234567");
  EXPECT_TRUE(result.output_cut);

  spec.excess = SubprocessSpec::Excess::kDiscard;
  result = Run(spec);
  EXPECT_EQ(result.end, SubprocessEnd::kExited);
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.output, "1234567");
  EXPECT_TRUE(result.output_cut);
}

TEST_F(SubprocessTest, KillsProgramsThatFloodTheOutput) {
  // Two processes, one of which ignores SIGTERM.
  const SubprocessResult result = Run(Shell("trap '' TERM; yes & yes; wait"));
  EXPECT_EQ(result.end, SubprocessEnd::kTooMuchOutput);
  EXPECT_EQ(result.output.size(), 64u * 1024);
  EXPECT_TRUE(result.output_cut);
  ReapOrphans();
}

TEST_F(SubprocessTest, DiscardsExcessOutput) {
  SubprocessSpec spec = Shell("head -c 100000000 /dev/zero; exit 5");
  spec.excess = SubprocessSpec::Excess::kDiscard;
  const SubprocessResult result = Run(spec);
  EXPECT_EQ(result.end, SubprocessEnd::kExited);
  EXPECT_EQ(result.code, 5);
  EXPECT_EQ(result.output.size(), spec.max_output);
  EXPECT_TRUE(result.output_cut);
}

TEST_F(SubprocessTest, DiscardsExcessStderr) {
  const SubprocessResult result = Run(Shell("head -c 10000000 /dev/zero >&2; echo done"));
  EXPECT_EQ(result.end, SubprocessEnd::kExited);
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.error_output.size(), SubprocessSpec::kMaxErrors);
  EXPECT_EQ(result.output, "done\n");
}

TEST_F(SubprocessTest, StopsAtTheTimeout) {
  const SubprocessResult result = Run(Program({"sleep", "20"}, 100ms));
  EXPECT_EQ(result.end, SubprocessEnd::kTimedOut);
  EXPECT_FALSE(result.left_behind);
}

TEST_F(SubprocessTest, KillsProgramsThatIgnoreSigtermAtTheTimeout) {
  const SubprocessResult result =
      Run(Shell("trap '' TERM; sleep 20 & sleep 20 & (sleep 20 & wait) & wait", 100ms));
  EXPECT_EQ(result.end, SubprocessEnd::kTimedOut);
  EXPECT_FALSE(result.left_behind);
  ReapOrphans();
}

TEST_F(SubprocessTest, StopsAProgramWithClosedOutputAtTheTimeout) {
  const SubprocessResult result = Run(Shell("exec >&- 2>&-; exec sleep 20", 100ms));
  EXPECT_EQ(result.end, SubprocessEnd::kTimedOut);
}

TEST_F(SubprocessTest, WaitsForTheExitCodeAfterTheOutputIsClosed) {
  const SubprocessResult result = Run(Shell("echo early; exec >&- 2>&-; exit 4"));
  EXPECT_EQ(result.end, SubprocessEnd::kExited);
  EXPECT_EQ(result.code, 4);
  EXPECT_EQ(result.output, "early\n");
}

TEST_F(SubprocessTest, KillsAStoppedProcessAtTheTimeout) {
  const SubprocessResult result = Run(Shell("kill -STOP $$; echo never", 100ms));
  EXPECT_EQ(result.end, SubprocessEnd::kTimedOut);
  EXPECT_EQ(result.output, "");
}

TEST_F(SubprocessTest, CancelKillsAGroupThatIgnoresSigterm) {
  const Milestone ready;
  const Cancellation cancellation = NewCancellation();
  std::thread other([&] {
    ready.Await();
    cancellation.Trigger();
  });
  const SubprocessResult result =
      RunSubprocess(Shell("trap '' TERM; sleep 20 & sleep 20 & echo $$; echo > " + ready.path() +
                          "; wait; sleep 20"),
                    cancellation);
  other.join();
  EXPECT_EQ(result.end, SubprocessEnd::kCancelled);
  const pid_t group = std::stoi(result.output);
  EXPECT_EQ(ReapOrphans(), 2);
  ExpectGroupGone(group);
}

TEST_F(SubprocessTest, CancelLetsAProgramCleanUp) {
  const Milestone ready;
  const Cancellation cancellation = NewCancellation();
  std::thread other([&] {
    ready.Await();
    cancellation.Trigger();
  });
  const SubprocessResult result = RunSubprocess(
      Shell("trap 'echo tidy; exit 0' TERM; echo > " + ready.path() + "; sleep 20 & wait"),
      cancellation);
  other.join();
  EXPECT_EQ(result.end, SubprocessEnd::kCancelled);
  EXPECT_EQ(result.output, "tidy\n");
  ReapOrphans();
}

/// The program is cancelled before fork has returned on the thread that started it.
TEST_F(SubprocessTest, CancelSendsSigtermRightAfterTheStart) {
  const Milestone ready;
  const Cancellation cancellation = NewCancellation();
  after_spawn = [&](pid_t pid) {
    ready.Await();
    cancellation.Trigger();
    // SIGTERM, which is correct, is sent after this has returned. SIGKILL would arrive before.
    const UniqueFd process(pidfd_open(pid, 0));
    pollfd ended = {process.get(), POLLIN, 0};
    EXPECT_EQ(poll(&ended, 1, 200), 0) << "it had no time to clean up";
  };
  const SubprocessResult result = RunSubprocess(
      Shell("trap 'echo tidy; exit 0' TERM; sleep 20 & echo > " + ready.path() + "; wait"),
      cancellation);
  after_spawn = nullptr;
  EXPECT_EQ(result.end, SubprocessEnd::kCancelled);
  EXPECT_EQ(result.output, "tidy\n");
  ReapOrphans();
}

/// The shell exits at once on SIGTERM; the processes that it started have the rest of the second.
TEST_F(SubprocessTest, CancelLetsChildrenOfAProgramCleanUp) {
  const Milestone ready;
  const Cancellation cancellation = NewCancellation();
  std::thread other([&] {
    ready.Await();
    cancellation.Trigger();
  });
  const std::string await_end_of_shell =
      "until read pid name state rest < /proc/$$/stat && [ $state = Z ]; do :; done";
  const SubprocessResult result = RunSubprocess(
      Shell("(trap '" + await_end_of_shell + "; echo tidy; kill -KILL 0' TERM; echo > " +
            ready.path() + "; while :; do :; done) & wait; sleep 20"),
      cancellation);
  other.join();
  EXPECT_EQ(result.end, SubprocessEnd::kCancelled);
  EXPECT_EQ(result.output, "tidy\n");
  ReapOrphans();
}

TEST_F(SubprocessTest, CancellationAppliesToAllCurrentAndLaterRuns) {
  const Cancellation cancellation = NewCancellation();
  EXPECT_FALSE(cancellation.triggered());
  std::vector<SubprocessResult> results(4);
  std::vector<std::thread> threads;
  const Milestone ready;
  for (SubprocessResult& result : results) {
    threads.emplace_back([&] {
      result = RunSubprocess(Shell("echo > " + ready.path() + "; exec sleep 20"), cancellation);
    });
  }
  ready.Await();  // one of them runs; the others may not have started
  cancellation.Trigger();
  cancellation.Trigger();
  for (std::thread& thread : threads) thread.join();
  for (const SubprocessResult& result : results) EXPECT_EQ(result.end, SubprocessEnd::kCancelled);

  EXPECT_TRUE(cancellation.triggered());
  const SubprocessResult late = RunSubprocess(Program({"true"}), cancellation);
  EXPECT_EQ(late.end, SubprocessEnd::kCancelled);
}

TEST_F(SubprocessTest, KillsLeftoverProcessesThatHoldTheOutput) {
  const SubprocessResult result = Run(Shell("sleep 20 & sleep 20 & echo $$; exit 6"));
  EXPECT_EQ(result.end, SubprocessEnd::kExited);
  EXPECT_EQ(result.code, 6);
  const pid_t group = std::stoi(result.output);
  EXPECT_EQ(ReapOrphans(), 2);
  ExpectGroupGone(group);
}

TEST_F(SubprocessTest, KillsLeftoverProcessesWithClosedOutput) {
  const SubprocessResult result = Run(Shell("sleep 20 >&- 2>&- & echo $$"));
  EXPECT_EQ(result.end, SubprocessEnd::kExited);
  const pid_t group = std::stoi(result.output);
  EXPECT_EQ(ReapOrphans(), 1);
  ExpectGroupGone(group);
}

TEST_F(SubprocessTest, ReadsAllOutputOfAnExitedProgram) {
  // The capacity of a pipe, so that the child can end before its output is read.
  SubprocessSpec spec = Shell("head -c 65536 /dev/zero");
  spec.max_output = 1 << 20;
  EXPECT_EQ(Run(spec).output.size(), 65536u);
}

/// A daemon leaves the process group and is not killed.
TEST_F(SubprocessTest, DaemonizedChildDoesNotBlockTheCall) {
  const Milestone ready;
  const SubprocessResult result = Run(Shell("setsid sh -c 'echo $$; echo > " + ready.path() +
                                            "; exec sleep 20' & read x < " + ready.path()));
  EXPECT_EQ(result.end, SubprocessEnd::kExited);
  EXPECT_EQ(result.code, 0);
  const pid_t daemon = std::stoi(result.output);
  ASSERT_GT(daemon, 1);
  EXPECT_EQ(kill(daemon, SIGKILL), 0) << "it was killed already";
  EXPECT_EQ(waitpid(daemon, nullptr, 0), daemon);
}

TEST_F(SubprocessTest, DaemonizedChildDoesNotBlockACancellation) {
  const Milestone ready;
  const Cancellation cancellation = NewCancellation();
  std::thread other([&] {
    ready.Await();
    cancellation.Trigger();
  });
  const SubprocessResult result = RunSubprocess(
      Shell("setsid sh -c 'echo $$; echo > " + ready.path() + "; exec sleep 20' & wait; sleep 20"),
      cancellation);
  other.join();
  EXPECT_EQ(result.end, SubprocessEnd::kCancelled);
  const pid_t daemon = std::stoi(result.output);
  ASSERT_GT(daemon, 1);
  EXPECT_EQ(kill(daemon, SIGKILL), 0) << "it was killed already";
  EXPECT_EQ(waitpid(daemon, nullptr, 0), daemon);
}

TEST_F(SubprocessTest, StopsAProgramThatLeavesItsProcessGroup) {
  // setpgrp() of Perl is setpgid(), with which a process can join any group of its session: here
  // the group of this process.
  const SubprocessResult result =
      Run(Program({"perl", "-e", "setpgrp(0, getpgrp(getppid())); sleep 20"}, 200ms));
  EXPECT_EQ(result.end, SubprocessEnd::kTimedOut);
  EXPECT_FALSE(result.left_behind);
}

TEST_F(SubprocessTest, ReportsWhyAProgramCannotRun) {
  test::TempTree tree;
  tree.File("text", "no program\n");
  tree.File("damaged", "no program either\n");
  tree.File("script", "#!/no/such/interpreter\n");
  for (const char* name : {"damaged", "script"}) chmod(tree.path(name).c_str(), 0755);
  struct Case {
    std::string program;
    std::string_view reason;
  };
  const Case cases[] = {
      {"/no/such/program", "No such file or directory; the program, and the interpreter"},
      {"no-such-program", "No such file or directory; the program, and the interpreter"},
      {"/dev/null/program", "Not a directory; the program, and the interpreter"},
      {"", "No such file or directory"},
      {tree.path(), "Permission denied; the program must be an executable file"},
      {tree.path("text"), "Permission denied; the program must be an executable file"},
      {tree.path("damaged"), "Exec format error; the program must be built for this machine"},
      {tree.path("script"), "No such file or directory; the program, and the interpreter"},
  };
  for (const Case& c : cases) {
    const SubprocessResult result = Run(Program({c.program, "argument"}));
    EXPECT_EQ(result.end, SubprocessEnd::kFailed) << c.program;
    EXPECT_THAT(result.error, StartsWith("cannot run " + c.program + ": " + std::string(c.reason)));
  }
}

TEST_F(SubprocessTest, PassesLongAndEmptyArguments) {
  SubprocessResult result =
      Run(Program({"sh", "-c", "echo ${#1}", "sh", std::string(100'000, 'x')}));
  EXPECT_EQ(result.output, "100000\n");
  result = Run(Program({"sh", "-c", "echo \"$# [$1] [$2] [$3]\"", "sh", "a", "", "$(exit) *"}));
  EXPECT_EQ(result.output, "3 [a] [] [$(exit) *]\n");
}

TEST_F(SubprocessTest, RejectsInvalidArguments) {
  EXPECT_EQ(Run(Program({})).error, "there is no program to run");
  const SubprocessResult nul = Run(Program({"echo", std::string("a\0b", 3)}));
  EXPECT_EQ(nul.end, SubprocessEnd::kFailed);
  EXPECT_THAT(nul.error, HasSubstr("NUL"));
  SubprocessSpec spec = Program({"env"});
  spec.environment["NAME"] = std::string("a\0b", 3);
  EXPECT_THAT(Run(spec).error, HasSubstr("NUL"));
  EXPECT_THAT(Run(Program({"echo", std::string(200'000, 'x')})).error,
              HasSubstr("Argument list too long; an argument is limited to 128 KiB"));
}

TEST_F(SubprocessTest, InheritsOnlyStandardDescriptors) {
  // Without O_CLOEXEC, unlike all descriptors that Patchbay opens.
  const UniqueFd open_file(open("/dev/null", O_RDWR));
  const UniqueFd far(fcntl(open_file.get(), F_DUPFD, 200));
  ASSERT_TRUE(far);
  // Descriptor 3 is the directory that ls reads.
  EXPECT_EQ(Run(Program({"ls", "/proc/self/fd"})).output, "0\n1\n2\n3\n");
  EXPECT_EQ(Run(Program({"readlink", "/proc/self/fd/0"})).output, "/dev/null\n");
  EXPECT_EQ(Run(Program({"cat"})).output, "");
}

/// If a standard descriptor is closed in this process, a pipe for the child gets its number.
TEST_F(SubprocessTest, WorksWithClosedStandardDescriptors) {
  std::vector<std::pair<UniqueFd, int>> saved;
  for (const int fd : {0, 1, 2}) {
    saved.emplace_back(UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, 10)), fd);
    ASSERT_TRUE(saved.back().first);
  }
  for (const int fd : {0, 1, 2}) close(fd);
  const SubprocessResult result = Run(Shell("echo out; echo err >&2; readlink /proc/self/fd/0"));
  for (const auto& [copy, fd] : saved) dup2(copy.get(), fd);
  EXPECT_EQ(result.output, "out\n/dev/null\n");
  EXPECT_EQ(result.error_output, "err\n");
}

TEST_F(SubprocessTest, HasAMinimalEnvironment) {
  ASSERT_EQ(setenv("PATCHBAY_SECRET", "1", 1), 0);
  const std::string path = std::getenv("PATH");
  SubprocessSpec spec = Shell("exec env | grep -v ^PWD= | sort");
  EXPECT_EQ(Run(spec).output, "HOME=/\nLANG=C.UTF-8\nPATH=" + path + "\n");
  spec.environment = {{"DEVICE", "a b"}, {"HOME", "/root"}};
  EXPECT_EQ(Run(spec).output, "DEVICE=a b\nHOME=/root\nLANG=C.UTF-8\nPATH=" + path + "\n");
  EXPECT_EQ(Run(Program({"pwd"})).output, "/\n");
}

TEST_F(SubprocessTest, ResetsSignalMaskAndHandlers) {
  std::thread([&] {
    sigset_t blocked;
    sigemptyset(&blocked);
    for (const int signal : {SIGTERM, SIGUSR1}) sigaddset(&blocked, signal);
    pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
    const auto before = std::signal(SIGPIPE, SIG_IGN);
    const SubprocessResult result =
        Run(Program({"grep", "-E", "Sig(Blk|Ign):", "/proc/self/status"}));
    std::signal(SIGPIPE, before);
    EXPECT_EQ(result.output.substr(0, 24), "SigBlk:\t0000000000000000") << result.output;
    // The mask omits the real-time signals, two of which glibc reserves.
    const auto ignored = result.output.find("SigIgn:");
    ASSERT_NE(ignored, std::string::npos);
    EXPECT_EQ(std::stoull(result.output.substr(ignored + 8), nullptr, 16) & 0x7fffffff, 0u);
  }).join();
}

TEST_F(SubprocessTest, RaisesTheOomScore) {
  const SubprocessResult result =
      Run(Shell("[ $(cat /proc/$$/oom_score_adj) -ge 500 ] && echo first"));
  EXPECT_EQ(result.output, "first\n") << result.error_output;
}

TEST_F(SubprocessTest, LeadsItsOwnProcessGroup) {
  const SubprocessResult result = Run(Shell("echo $$; cut -d' ' -f5 /proc/$$/stat"));
  const auto line_end = result.output.find('\n');
  EXPECT_EQ(result.output.substr(0, line_end + 1), result.output.substr(line_end + 1));
}

TEST_F(SubprocessTest, ReportsExhaustedDescriptors) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const Cancellation cancellation = NewCancellation();
  const UniqueFd next(open("/dev/null", O_RDONLY | O_CLOEXEC));
  std::vector<std::string> failures;  // checked later, because sanitizers need descriptors, too
  std::optional<SubprocessResult> result;
  // With each limit, another step fails for lack of descriptors.
  for (auto limit = static_cast<rlim_t>(next.get() + 1); failures.size() < 20; ++limit) {
    const rlimit tight = {limit, before.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &tight) != 0) break;
    result = RunSubprocess(Program({"true"}), cancellation);
    if (result->end != SubprocessEnd::kFailed) break;
    failures.push_back(result->error);
  }
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->end, SubprocessEnd::kExited);
  EXPECT_GE(failures.size(), 4u);
  EXPECT_THAT(failures, testing::Each(HasSubstr("Too many open files")));
}

TEST_F(SubprocessTest, RunsOnManyThreadsAtOnce) {
  const Cancellation cancellation = NewCancellation();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&cancellation, i] {
      for (int j = 0; j < 10; ++j) {
        const std::string text = std::to_string(i) + "." + std::to_string(j);
        const SubprocessResult result = RunSubprocess(
            Program({"sh", "-c", "echo $1; exit $2", "sh", text, std::to_string(i)}), cancellation);
        EXPECT_EQ(result.output, text + "\n");
        EXPECT_EQ(result.code, i);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(SubprocessTest, FailsCleanlyIfSigchldIsIgnored) {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  const SubprocessResult result = Run(Program({"true"}));
  std::signal(SIGCHLD, before);
  EXPECT_EQ(result.end, SubprocessEnd::kFailed);
  EXPECT_THAT(result.error, StartsWith("cannot "));
}

/// A test cannot make a process hang in the kernel. A process that this thread has no permission to
/// kill has the same effect.
TEST_F(SubprocessTest, ReportsProcessesThatCannotBeKilled) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const Milestone ready;
  const Cancellation cancellation = NewCancellation();
  const SubprocessSpec spec =
      Program({"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c",
               "trap '' TERM; echo ready > " + ready.path() + "; exec sleep 20"});
  std::filesystem::permissions(std::filesystem::path(ready.path()).parent_path(),
                               std::filesystem::perms::all);
  std::filesystem::permissions(ready.path(), std::filesystem::perms::all);
  SubprocessResult result;
  std::thread child([&] {
    __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};  // of this thread
    __user_cap_data_struct sets[2];
    ASSERT_EQ(syscall(SYS_capget, &header, sets), 0);
    sets[0].effective &= ~(1u << CAP_KILL);
    ASSERT_EQ(syscall(SYS_capset, &header, sets), 0);
    result = RunSubprocess(spec, cancellation);
  });
  ready.Await();
  cancellation.Trigger();
  child.join();
  EXPECT_EQ(result.end, SubprocessEnd::kCancelled);
  ASSERT_TRUE(result.left_behind);
  EXPECT_THAT(Describe(spec, result), HasSubstr("hangs in the kernel"));
  EXPECT_FALSE(HasEnded(result.left_behind));

  ASSERT_EQ(pidfd_send_signal(result.left_behind.get(), SIGKILL, nullptr, 0), 0);
  pollfd ended = {result.left_behind.get(), POLLIN, 0};
  ASSERT_EQ(poll(&ended, 1, static_cast<int>(kPatience.count())), 1);
  EXPECT_TRUE(HasEnded(result.left_behind));
  EXPECT_TRUE(HasEnded(result.left_behind));
  result.left_behind = UniqueFd();
}

TEST(DescribeSubprocess, CoversEveryEnd) {
  SubprocessSpec spec;
  spec.argv = {"/bin/card-ok", "/dev/x"};
  spec.timeout = 5000ms;
  spec.max_output = 4096;
  struct Case {
    SubprocessEnd end;
    int code;
    std::string_view error_output;
    std::string_view text;
  };
  const Case cases[] = {
      {SubprocessEnd::kExited, 1, "", "/bin/card-ok ended with exit code 1"},
      {SubprocessEnd::kExited, 2, " \n\n", "/bin/card-ok ended with exit code 2"},
      {SubprocessEnd::kExited, 1, "first\nno card\n",
       "/bin/card-ok ended with exit code 1: no card"},
      {SubprocessEnd::kExited, 1, "\x1b[31mred",
       R"(/bin/card-ok ended with exit code 1: \x1b[31mred)"},
      {SubprocessEnd::kSignalled, SIGSEGV, "",
       "/bin/card-ok was killed by signal 11 (Segmentation fault)"},
      {SubprocessEnd::kSignalled, 63, "", "/bin/card-ok was killed by signal 63 (unknown)"},
      {SubprocessEnd::kTimedOut, 0, "", "/bin/card-ok timed out after 5000 ms and was stopped"},
      {SubprocessEnd::kCancelled, 0, "",
       "/bin/card-ok was stopped because patchbay is shutting down"},
      {SubprocessEnd::kTooMuchOutput, 0, "",
       "/bin/card-ok printed more than 4096 bytes and was killed"},
  };
  for (const Case& c : cases) {
    SubprocessResult result;
    result.end = c.end;
    result.code = c.code;
    result.error_output = c.error_output;
    EXPECT_EQ(Describe(spec, result), c.text);
  }
  SubprocessResult failed;
  failed.error = "cannot run /bin/card-ok: Permission denied";
  EXPECT_EQ(Describe(spec, failed), failed.error);
}

TEST(DescribeSubprocess, IsShortAndOnOneLine) {
  SubprocessSpec spec;
  spec.argv = {std::string(100'000, '\n')};
  SubprocessResult result;
  result.end = SubprocessEnd::kExited;
  result.error_output = std::string(100'000, '\xff');
  const std::string text = Describe(spec, result);
  EXPECT_LT(text.size(), 2048u);
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

// --- programs on a file system that does not respond ---

class HangingProgramTest : public SubprocessTest {
 protected:
  HangingProgramTest() { tree_.Dir("mnt"); }

  test::TempTree tree_;
};

TEST_F(HangingProgramTest, StopsAtItsTimeout) {
  test::HangingMount mount(tree_.path("mnt"));
  if (!mount.why_not().empty()) GTEST_SKIP() << mount.why_not();
  const SubprocessResult result = Run(Program({tree_.path("mnt/program")}, 100ms));
  EXPECT_EQ(result.end, SubprocessEnd::kTimedOut);
  EXPECT_FALSE(result.left_behind);
  mount.End();
}

TEST_F(HangingProgramTest, StopsWhenCanceled) {
  test::HangingMount mount(tree_.path("mnt"));
  if (!mount.why_not().empty()) GTEST_SKIP() << mount.why_not();
  const Cancellation cancellation = NewCancellation();
  std::thread cancels([&] {
    EXPECT_TRUE(mount.AwaitHang(kPatience));
    cancellation.Trigger();
  });
  const SubprocessResult result =
      RunSubprocess(Program({tree_.path("mnt/program")}, 1h), cancellation);
  cancels.join();
  EXPECT_EQ(result.end, SubprocessEnd::kCancelled);
  EXPECT_FALSE(result.left_behind);
  mount.End();
}

}  // namespace
}  // namespace patchbay
