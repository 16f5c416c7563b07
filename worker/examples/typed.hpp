#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <brood/job.hpp>

// A job with a field of every type that an argument can have.

struct Size {
  int width = 0;
  int height = 0;
};

struct Typed {
  bool yes = false;
  std::int64_t whole = 0;
  double part = 0;
  std::string text;
  Size size;  // a struct within a job: [320, 200], or {"width": 320, "height": 200}
  std::vector<Size> sizes;
  std::array<std::uint8_t, 3> colour{};
  std::map<std::string, double> weights;
  std::unordered_map<std::string, std::vector<std::string>> lists;
  brood::Json anything;  // any JSON, byte for byte
  std::optional<std::string> maybe = {};

  static constexpr std::string_view job_class = "Examples::Typed";
  static constexpr brood::JobOptions options{.queue = "default", .retry = 3, .backtrace = 10, .tags = {"typed"}};
  void perform(brood::Context& job);
};
