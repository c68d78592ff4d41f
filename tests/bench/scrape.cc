#include <grpcpp/grpcpp.h>
#include <sched.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "bench/measure.h"
#include "deviceplugin.grpc.pb.h"

namespace patchbay::bench {
namespace {

constexpr int kScrapedResources = 10, kScrapedDevices = 100;  // of each
constexpr bool kCompressed = true;                            // as requested by Prometheus
constexpr std::chrono::milliseconds kScrapePause{100};
constexpr double kMinRate = 9.5;  // scrapes per second; below it the figures are not valid

/// Sends Allocate calls one after the other and measures each in ms. There is a pause before each,
/// because a kubelet sends few.
class Allocations {
 public:
  explicit Allocations(KubeletSim& kubelet)
      : stub_(v1beta1::DevicePlugin::NewStub(
            grpc::CreateChannel("unix:" + kubelet.View("bench.dev/r0")->endpoint,
                                grpc::InsecureChannelCredentials()))) {
    request_.add_container_requests()->add_devices_ids("n42");
  }

  void Measure(int calls, std::vector<double>& samples) {
    for (int i = 0; i < calls; ++i) {
      std::this_thread::sleep_for(std::chrono::microseconds(500));
      grpc::ClientContext context;
      v1beta1::AllocateResponse response;
      const auto start = Clock::now();
      if (!stub_->Allocate(&context, request_, &response).ok()) std::exit(1);
      samples.push_back(Ms(Clock::now() - start));
    }
  }

 private:
  const std::unique_ptr<v1beta1::DevicePlugin::Stub> stub_;
  v1beta1::AllocateRequest request_;
};

/// Sends ten compressed scrapes per second while it exists, one after the other.
class Scraper {
 public:
  Scraper(int port, std::atomic<int>& scrapes)
      : scrapes_(scrapes), thread_([this, port] { Run(port); }) {}
  ~Scraper() {
    stop_ = true;
    thread_.join();
  }

 private:
  void Run(int port) const {
    // Prometheus runs on another machine, so reading must not take CPU time from Allocate.
    const sched_param none{};
    sched_setscheduler(0, SCHED_IDLE, &none);
    for (auto due = Clock::now(); !stop_; due += kScrapePause) {
      std::this_thread::sleep_until(due);
      DaemonProcess::GetMetrics(port, kCompressed);
      ++scrapes_;
    }
  }

  std::atomic<int>& scrapes_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

void BenchOneScrape(const DaemonProcess& daemon) {
  constexpr int kWarmUp = 200, kScrapes = 2000;
  const int port = daemon.Port();
  std::vector<double> took;
  std::size_t bytes = 0;
  long warm = 0;
  for (int i = 0; i < kWarmUp + kScrapes; ++i) {
    const auto scrape = DaemonProcess::GetMetrics(port);
    took.push_back(Ms(scrape.took));
    bytes = scrape.text.size();
    if (i == kWarmUp) warm = daemon.ResidentKib();
  }
  const std::size_t compressed = DaemonProcess::GetMetrics(port, kCompressed).text.size();
  std::printf("(a scrape is %zu bytes, compressed %zu)\n", bytes, compressed);
  Print("scrape of 1,000 devices, made for it, p50", Quantile(took, 0.5), 10, "ms");
  Print("scrape of 1,000 devices, made for it, p99", Quantile(took, 0.99), 10, "ms");
  Print("memory after 2,200 scrapes / after 200",
        static_cast<double>(daemon.ResidentKib()) / static_cast<double>(warm), 1.05, "x");
}

/// Measures with and without scrapes alternately, so that other load on the machine affects both.
void BenchAllocateWhileScraped(DaemonProcess& daemon) {
  constexpr int kTurns = 20, kCalls = 600, kWarmUp = 500;
  Allocations allocations(daemon.kubelet());
  const int port = daemon.Port();
  std::vector<double> quiet, scraped;
  std::atomic<int> scrapes = 0;
  double seconds = 0;
  allocations.Measure(kWarmUp, quiet);
  quiet.clear();
  const long before = daemon.ResidentKib();
  for (int turn = 0; turn < kTurns; ++turn) {
    allocations.Measure(kCalls, quiet);
    const auto start = Clock::now();
    {
      const Scraper scraper(port, scrapes);
      allocations.Measure(kCalls, scraped);
    }
    seconds += Ms(Clock::now() - start) / 1000;
  }
  const double rate = scrapes / seconds;
  std::printf(
      "(Allocate alone: p50 %.3f ms, p99 %.3f ms; then %.0f compressed scrapes a second%s)\n",
      Quantile(quiet, 0.5), Quantile(quiet, 0.99), rate, rate < kMinRate ? "  MISSED" : "");
  Print("Allocate at 10 scrapes a second / alone, p50",
        Quantile(scraped, 0.5) / Quantile(quiet, 0.5), 1.2, "x");
  Print("Allocate at 10 scrapes a second / alone, p99",
        Quantile(scraped, 0.99) / Quantile(quiet, 0.99), 1.2, "x");
  Print("memory after compressed scrapes / before",
        static_cast<double>(daemon.ResidentKib()) / static_cast<double>(before), 1.05, "x");
}

}  // namespace

void BenchScrape() {
  DaemonProcess daemon;
  for (int i = 0; i < kScrapedResources; ++i) MakeNodes(daemon.host(), i, kScrapedDevices);
  daemon.Start(Config(kScrapedResources));
  daemon.AwaitListed(kScrapedResources, kScrapedDevices);
  BenchOneScrape(daemon);
  BenchAllocateWhileScraped(daemon);
}

}  // namespace patchbay::bench
