#include "supervisor/otlp/exporter_child.hpp"

#include <unistd.h>

#include <utility>

#include "shared/otlp/span_pipe.hpp"
#include "supervisor/otlp/exporter.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto time_to_finish = 2'500ms;  // half a second more than the exporter takes

}  // namespace

ExporterChild::ExporterChild(EventLoop& loop, Children& children, SpanSource source, std::string pipe,
                             SpanCounts& counts)
    : source_(std::move(source)),
      pipe_(std::move(pipe)),
      counts_(counts),
      child_(loop, children,
             {.settings = {.title = "brood: spans"},
              .ended = "spans_exporter_ended",
              .not_started = "spans_not_exported",
              .before =
                  [this] {
                    make_span_pipe(pipe_);
                    if (!pipe_end_) pipe_end_ = open_span_pipe(pipe_);
                  },
              .body =
                  [this](int lifeline) {
                    return run_exporter({.settings = settings_,
                                         .source = source_,
                                         .pipe = pipe_,
                                         .counts = &counts_,
                                         .lifeline = lifeline});
                  }}),
      wake_(loop) {}

void ExporterChild::follow(const OtlpSettings& settings) {
  const bool changes = !(settings_ == settings);
  settings_ = settings;
  if (changes) child_.let_go(time_to_finish);  // it sends the spans that it has
  if (!settings_.endpoint.empty()) child_.start();
}

void ExporterChild::finish(SteadyTime now) {
  if (std::exchange(finishes_, true)) return;
  child_.let_finish();
  deadline_ = now + time_to_finish;
  if (child_.is_running()) wake_.start_at(deadline_);
}

bool ExporterChild::has_finished(SteadyTime now) {
  if (child_.is_running() && now < deadline_) return false;
  child_.kill();
  if (pipe_end_) unlink(pipe_.c_str());
  return true;
}

}  // namespace brood
