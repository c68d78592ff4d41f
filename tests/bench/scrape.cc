#include <grpcpp/grpcpp.h>
#include <sched.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "bench/measure.h"
#include "deviceplugin.grpc.pb.h"

namespace patchbay::bench {
namespace {

constexpr int kScrapedResources = 10, kScrapedDevices = 100;  // of each
constexpr bool kCompressed = true;                            // as requested by Prometheus
constexpr std::chrono::milliseconds kScrapePause{100};

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

  std::vector<double> Measure(int calls) {
    std::vector<double> samples;
    for (int i = 0; i < calls; ++i) {
      std::this_thread::sleep_for(std::chrono::microseconds(500));
      grpc::ClientContext context;
      v1beta1::AllocateResponse response;
      const auto start = Clock::now();
      if (!stub_->Allocate(&context, request_, &response).ok()) std::exit(1);
      samples.push_back(Ms(Clock::now() - start));
    }
    return samples;
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

void BenchOneScrape(Report& report, const DaemonProcess& daemon) {
  constexpr int kWarmUp = 200, kScrapes = 2000;
  const int port = daemon.Port();
  std::vector<double> took;
  std::size_t bytes = 0;
  double warm = 0;
  for (int i = 0; i < kWarmUp + kScrapes; ++i) {
    const auto scrape = DaemonProcess::GetMetrics(port);
    took.push_back(Ms(scrape.took));
    bytes = scrape.text.size();
    if (i == kWarmUp) warm = ResidentMib(daemon);
  }
  const std::size_t compressed = DaemonProcess::GetMetrics(port, kCompressed).text.size();
  report.Add("size of a scrape of 1,000 devices", static_cast<double>(bytes) / 1024);
  report.Add("size of a scrape of 1,000 devices, compressed",
             static_cast<double>(compressed) / 1024);
  report.Add("scrape of 1,000 devices, made for it, p50", EstimateMedian(took));
  report.Add("scrape of 1,000 devices, made for it, p99", EstimateP99(took));
  report.Add("memory after 2,200 scrapes / after 200", ResidentMib(daemon) / warm);
}

/// Measures with and without scrapes alternately, so that other load on the machine affects both.
void BenchAllocateWhileScraped(Report& report, DaemonProcess& daemon) {
  constexpr int kTurns = 20, kCalls = 600, kWarmUp = 500;
  Allocations allocations(daemon.kubelet());
  const int port = daemon.Port();
  std::vector<double> all_alone, all_scraped, p50, p99;  // the last two: ratios of the turns
  std::atomic<int> scrapes = 0;
  Clock::duration scraping{};
  allocations.Measure(kWarmUp);
  const double before = ResidentMib(daemon);
  for (int turn = 0; turn < kTurns; ++turn) {
    const std::vector<double> alone = allocations.Measure(kCalls);
    const auto start = Clock::now();
    std::vector<double> scraped;
    {
      const Scraper scraper(port, scrapes);
      scraped = allocations.Measure(kCalls);
    }
    scraping += Clock::now() - start;
    all_alone.insert(all_alone.end(), alone.begin(), alone.end());
    all_scraped.insert(all_scraped.end(), scraped.begin(), scraped.end());
    p50.push_back(Quantile(scraped, 0.5) / Quantile(alone, 0.5));
    p99.push_back(Quantile(scraped, 0.99) / Quantile(alone, 0.99));
  }
  report.Add("time between scrapes during Allocate", Ms(scraping) / scrapes);
  const auto ratio = [&](double share) {
    return Quantile(all_scraped, share) / Quantile(all_alone, share);
  };
  report.Add("Allocate at 10 scrapes a second / alone, p50",
             {ratio(0.5), EstimateMedian(p50).spread});
  report.Add("Allocate at 10 scrapes a second / alone, p99",
             {ratio(0.99), EstimateMedian(p99).spread});
  report.Add("memory after compressed scrapes / before", ResidentMib(daemon) / before);
}

}  // namespace

void BenchScrape(Report& report) {
  DaemonProcess daemon;
  for (int i = 0; i < kScrapedResources; ++i) MakeNodes(daemon.host(), i, kScrapedDevices);
  daemon.Start(Config(kScrapedResources));
  daemon.AwaitListed(kScrapedResources, kScrapedDevices);
  BenchOneScrape(report, daemon);
  BenchAllocateWhileScraped(report, daemon);
}

}  // namespace patchbay::bench
