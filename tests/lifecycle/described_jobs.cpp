// Job classes with options and fields, in two builds: BUILD is 1 or 2.
#include <brood/job.hpp>
#include <chrono>
#include <fstream>
#include <optional>
#include <string>
#include <tuple>

using namespace std::chrono_literals;

struct ResizeImage {
  std::string path;
  int width = 0;
#if BUILD == 2
  std::optional<int> quality = {};
#endif

#if BUILD == 2
  static constexpr brood::JobOptions options{.queue = "pictures", .retry = 2};
#else
  static constexpr brood::JobOptions options{
      .queue = "images", .retry = 5, .timeout = 30s, .tags = {"slow"}, .expires_in = 1h};
#endif
  void perform() {}
};

struct NightlyReport {
  int customer = 0;
  std::string day;

  static constexpr brood::JobOptions options{.queue = "reports", .unique = true};
  static constexpr auto unique_by = std::tuple{&NightlyReport::customer};
  void perform() {}
};

struct Tell {
  std::string path, what;

  static constexpr brood::JobOptions options{.queue = "tales", .encrypt = true};
  void perform() { std::ofstream(path, std::ios::app) << what << std::endl; }
};

BROOD_JOBS(ResizeImage, NightlyReport, Tell)
