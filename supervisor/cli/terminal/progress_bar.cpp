#include "supervisor/cli/terminal/progress_bar.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace brood {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t bar_width = 30;

}  // namespace

ProgressBar::ProgressBar(std::string label, std::size_t total)
    : label_(std::move(label)), total_(std::max<std::size_t>(total, 1)), shown_(isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  if (drawn_) fmt::print(stderr, "\r\x1b[K");
}

void ProgressBar::show(std::size_t done) {
  if (!shown_ || steady_now() - last_ < 100ms) return;
  last_ = steady_now();
  drawn_ = true;
  const std::size_t filled = std::min(done, total_) * bar_width / total_;
  fmt::print(stderr, "\r\x1b[K{:<12} [{}{}] {:>3}%", label_, std::string(filled, '#'),
             std::string(bar_width - filled, '.'), std::min(done, total_) * 100 / total_);
}

}  // namespace brood
