#pragma once

#include <brood/job.hpp>

struct ResizeImage {
  std::string path;
  int width = 0;
  std::optional<int> quality = {};

  static constexpr brood::JobOptions options{.queue = "images", .retry = 5};
  void perform(brood::Context& job);
};
