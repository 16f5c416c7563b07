#include "supervisor/otlp/exporter_child.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "shared/base/check.hpp"
#include "shared/base/log.hpp"
#include "shared/otlp/span_pipe.hpp"
#include "supervisor/otlp/exporter.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto soon = 60s;
constexpr int most_doublings = 6;
constexpr auto time_to_finish = 2'500ms;  // half a second more than it takes itself

}  // namespace

ExporterChild::ExporterChild(EventLoop& loop, Children& children, SpanSource source, std::string pipe,
                             SpanCounts& counts)
    : children_(children),
      source_(std::move(source)),
      pipe_(std::move(pipe)),
      counts_(counts),
      again_(loop, [this] { start(); }),
      wake_(loop) {}

void ExporterChild::follow(const OtlpSettings& settings) {
  const bool changes = !(settings_ == settings);
  settings_ = settings;
  if (changes) leave();
  if (!settings_.endpoint.empty() && !child_.is_running() && !again_.running()) start();
}

// It goes on by itself until it has sent what it has.
void ExporterChild::leave() {
  again_.stop();
  failures_ = 0;
  lifeline_.reset();
  child_ = Child();
}

void ExporterChild::finish(SteadyTime now) {
  if (std::exchange(finishes_, true)) return;
  again_.stop();
  lifeline_.reset();
  deadline_ = now + time_to_finish;
  if (child_.is_running()) wake_.start_at(deadline_);
}

bool ExporterChild::has_finished(SteadyTime now) {
  if (child_.is_running() && now < deadline_) return false;
  child_.kill();
  if (pipe_end_) unlink(pipe_.c_str());
  return true;
}

void ExporterChild::start() try {
  make_span_pipe(pipe_);
  if (!pipe_end_) pipe_end_ = open_span_pipe(pipe_);
  int ends[2];
  check("pipe2", pipe2(ends, O_CLOEXEC));
  const UniqueFd its_end(ends[0]);
  lifeline_.reset(ends[1]);
  started_ = steady_now();
  child_ = children_.spawn(
      {.title = "brood: spans", .keep = {its_end.get()}}, std::nullopt,
      [this, lifeline = its_end.get()] {
        return run_exporter(
            {.settings = settings_, .source = source_, .pipe = pipe_, .counts = &counts_, .lifeline = lifeline});
      },
      [this](const Children::End& end) { ended(end); });
} catch (const std::system_error& error) {
  log::warn("spans_not_exported", {{"reason", error.what()}});
  again_.start_in(soon);
}

void ExporterChild::ended(const Children::End& end) {
  if (finishes_) return;
  failures_ = end.at - started_ < soon ? failures_ + 1 : 1;
  const auto again = 1s * (1 << std::min(failures_ - 1, most_doublings));
  log::error("spans_exporter_ended", {{"status", end.status.describe()}, {"again_in_s", again.count()}});
  again_.start_in(again);
}

}  // namespace brood
