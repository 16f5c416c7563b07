#pragma once

#include <brood/job.hpp>
#include <chrono>
#include <optional>
#include <string>

struct MakeThumbnail {
  std::string picture;
  std::string thumbnail;
  std::optional<int> width = {};  // 160 when it is not given

  static constexpr brood::JobOptions options{.queue = "images", .retry = 5, .timeout = std::chrono::seconds(30)};

  void perform(brood::Context& job);
};
