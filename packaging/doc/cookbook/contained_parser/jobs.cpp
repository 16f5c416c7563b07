#include <brood/job.hpp>
#include <chrono>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "archive.hpp"

struct IndexUpload {
  std::string path;

  static constexpr brood::JobOptions options{.queue = "uploads", .retry = 1, .timeout = std::chrono::seconds(10)};

  void perform(brood::Context& job) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read " + path);
    const Archive archive(std::string(std::istreambuf_iterator<char>(file), {}));
    std::size_t words = 0;
    for (std::size_t entry = 0; entry < archive.entries(); ++entry) words += archive.words_in(entry);
    job.log(path + " has " + std::to_string(words) + " words");
  }
};

BROOD_JOBS(IndexUpload)
