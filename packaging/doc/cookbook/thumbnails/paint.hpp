#pragma once

#include <brood/job.hpp>
#include <string>

// Paints a picture, for want of one.
struct Paint {
  std::string picture;
  int width = 0;
  int height = 0;

  static constexpr brood::JobOptions options{.queue = "images"};

  void perform();
};
