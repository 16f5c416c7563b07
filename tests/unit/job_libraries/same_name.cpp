// Has a ResizeImage of its own, of another shape than that of perform_jobs.cpp, under another wire name.
#include <stdexcept>

#include <brood/job.hpp>

struct ResizeImage {
  bool only = false;

  static constexpr std::string_view job_class = "Other::ResizeImage";
  void perform() { throw std::runtime_error(only ? "the other one" : "no"); }
};

BROOD_JOBS(ResizeImage)
