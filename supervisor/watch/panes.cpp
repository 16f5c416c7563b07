#include "supervisor/watch/panes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "shared/store/report/work_entries.hpp"
#include "supervisor/watch/figures.hpp"

namespace brood::watch {
namespace {

// The most characters of a text that a table shows.
constexpr std::size_t longest_cell = 400;

// Makes the cells of one listing.
struct Writer {
  const Glyphs& glyphs;

  Cell text(const std::string& what, Look look = Look::plain) const {
    return {.text = clean(what.substr(0, longest_cell), glyphs), .look = look};
  }
  static Cell number(std::string shown, double order, Look look = Look::plain) {
    return {.text = std::move(shown), .order = order, .look = look};
  }
  static Cell count(std::uint64_t n, Look look = Look::plain) {
    return number(count_text(n), static_cast<double>(n), n == 0 ? Look::dim : look);
  }
  // An unknown figure sorts far below zero.
  static Cell measured(std::string shown, std::optional<double> n) {
    return number(std::move(shown), n.value_or(-1e18));
  }
};

Column right(std::string title, int importance, std::size_t least = 0) {
  return {
      .title = std::move(title), .align = Align::right, .importance = importance, .least = least, .by_number = true};
}

Column left(std::string title, int importance, std::size_t least = 0) {
  return {.title = std::move(title), .importance = importance, .least = least, .shrinks = true};
}

Look look_of_state(const std::string& state) {
  if (state == "busy") return Look::good;
  if (state == "resting" || state == "gone") return Look::bad;
  return state == "quiet" || state == "stopping" ? Look::warning : Look::dim;
}

// A deadline is near in the last fifth of the job's time, and in its last five seconds.
Cell age_of(const WorkerStatus& worker) {
  if (worker.rests_for) return Writer::number("for " + duration_text_of(*worker.rests_for), -1);
  if (worker.state != "busy") return {.order = -2};
  const std::string age = duration_text_of(worker.age);
  if (!worker.deadline_in) return Writer::number(age, worker.age);
  const double left = *worker.deadline_in, whole = worker.age + left;
  if (left > 5 && left > whole / 5) return Writer::number(age, worker.age);
  return Writer::number(fmt::format("{}{}{}", age, left > 0 ? "/" : "!", duration_text_of(whole)), worker.age,
                        left > 0 ? Look::warning : Look::bad);
}

Listing workers(const Model& model, const Writer& write) {
  Listing listing;
  listing.columns = {right("SLOT", 8),      right("PID", 7, 7),  left("CAPSULE", 2, 7), left("STATE", 9, 8),
                     right("AGE", 9, 6),    left("CLASS", 9, 9), left("JID", 7, 8),     left("QUEUE", 1, 7),
                     right("CPU%", 5, 5),   right("RSS", 6, 5),  right("JOBS", 4, 6),   right("FAILED", 4),
                     right("GENERATION", 0)};
  const auto& all = model.machine().workers;
  const bool some_say_how_far =
      std::any_of(all.begin(), all.end(), [](const WorkerStatus& one) { return one.progress.has_value(); });
  if (some_say_how_far) listing.columns.push_back(left("PROGRESS", 8, 8));
  listing.when_empty = "no supervisor of this machine and user has left a scoreboard";
  for (const WorkerStatus& worker : model.machine().workers) {
    const ProcessUse* const use = model.use_of(worker.pid);
    const auto cpu = model.cpu_percent(worker.pid);
    listing.rows.push_back(
        {.key = fmt::format("{}:{}", worker.identity, worker.slot),
         .cells = {Writer::number(std::to_string(worker.slot), worker.slot),
                   Writer::number(worker.pid > 0 ? std::to_string(worker.pid) : "", static_cast<double>(worker.pid)),
                   write.text(worker.capsule), write.text(worker.state, look_of_state(worker.state)), age_of(worker),
                   write.text(worker.job_class, Look::bold), write.text(worker.jid), write.text(worker.queue),
                   Writer::measured(use ? percent_text(cpu) : "", cpu),
                   use ? Writer::number(memory_text(use->rss_kb), static_cast<double>(use->rss_kb)) : Cell{},
                   Writer::count(worker.processed), Writer::count(worker.failed, Look::warning),
                   Writer::number(std::to_string(worker.generation), static_cast<double>(worker.generation))}});
    if (some_say_how_far)
      listing.rows.back().cells.push_back(write.text(worker.progress ? progress_text(*worker.progress) : ""));
  }
  return listing;
}

Listing queues(const Model& model, const Writer& write) {
  Listing listing;
  listing.columns = {left("QUEUE", 9, 10), right("SIZE", 9, 8), right("LATENCY", 8, 8), right("CHANGE", 7, 9),
                     left("STATE", 8, 7)};
  listing.when_empty = "no job was ever pushed to this Redis";
  for (const QueueStatus& queue : model.redis()->queues) {
    const auto change = model.queue_change(queue.name);
    const bool waits = queue.size.value_or(0) > 0;
    listing.rows.push_back(
        {.key = queue.name,
         .cells = {write.text(queue.name, Look::bold),
                   queue.size ? Writer::count(static_cast<std::uint64_t>(std::max<std::int64_t>(0, *queue.size)))
                              : Writer::number("no list", -1, Look::bad),
                   waits ? Writer::number(duration_text_of(queue.latency), queue.latency) : Cell{},
                   Writer::measured(change_text(change), change),
                   queue.paused ? write.text("paused", Look::warning) : Cell{}}});
  }
  return listing;
}

Listing classes(const Model& model, const Writer& write) {
  Listing listing;
  listing.columns = {left("CLASS", 9, 20),   right("RUNS", 8, 7),     right("FAILED", 7),
                     right("CRASHED", 8),    right("CPU", 5, 7),      right("TIME", 3, 7),
                     right("AVERAGE", 6, 7), right("CPU EACH", 4, 7), right("PEAK", 6, 5)};
  listing.when_empty = "no job has ended on this machine yet";
  for (const ClassUsage& usage : model.machine().classes) {
    const double cpu = static_cast<double>(usage.cpu_us) / 1e6, wall = static_cast<double>(usage.wall_us) / 1e6;
    const double runs = std::max(1.0, static_cast<double>(usage.runs));
    listing.rows.push_back(
        {.key = usage.job_class,
         .cells = {write.text(usage.job_class.empty() ? "(others)" : usage.job_class, Look::bold),
                   Writer::count(usage.runs), Writer::count(usage.failed, Look::warning),
                   Writer::count(usage.crashed, Look::bad), Writer::number(duration_text_of(cpu), cpu),
                   Writer::number(duration_text_of(wall), wall),
                   Writer::number(duration_text_of(wall / runs), wall / runs),
                   Writer::number(duration_text_of(cpu / runs), cpu / runs),
                   Writer::number(memory_text(usage.peak_rss_kb), static_cast<double>(usage.peak_rss_kb))}});
  }
  return listing;
}

Listing crashes(const Model& model, WallTime now, const Writer& write) {
  Listing listing;
  listing.columns = {right("AGO", 9, 6),  right("COUNT", 8),        left("CLASS", 9, 10),
                     left("ERROR", 7, 7), left("TOP FRAME", 6, 16), left("FINGERPRINT", 1, 12)};
  listing.when_empty = "no job has crashed its worker";
  for (const Crash& crash : model.redis()->crashes) {
    const double ago = std::max(0.0, epoch_seconds(now) - crash.at);
    listing.rows.push_back({.key = crash.fingerprint,
                            .cells = {Writer::number(duration_text_of(std::floor(ago)), ago),
                                      Writer::count(static_cast<std::uint64_t>(std::max<std::int64_t>(0, crash.count))),
                                      write.text(crash.job_class, Look::bold), write.text(crash.error_class, Look::bad),
                                      write.text(top_frame(crash)), write.text(crash.fingerprint, Look::dim)}});
  }
  return listing;
}

Listing processes(const Model& model, WallTime now, const Writer& write) {
  Listing listing;
  listing.columns = {left("PROCESS", 9, 12), left("TAG", 3, 4),    left("STATE", 8, 7), right("BUSY", 8, 6),
                     left("QUEUES", 5, 8),   right("RSS", 6, 5),   right("UP", 6, 6),   right("BEAT", 7, 5),
                     right("REDIS", 2, 6),   left("VERSION", 1, 7)};
  listing.when_empty = "no process has a heartbeat in this Redis";
  for (const ProcessStatus& process : model.redis()->processes) {
    const double up = epoch_seconds(now) - epoch_seconds(process.started_at);
    const double beat = std::max(0.0, epoch_seconds(now) - epoch_seconds(process.beat));
    const bool late = beat > 30;
    listing.rows.push_back(
        {.key = process.identity,
         .cells = {
             write.text(fmt::format("{}:{}", process.hostname, process.pid), Look::bold), write.text(process.tag),
             write.text(process.quiet ? "quiet" : "running", process.quiet ? Look::warning : Look::good),
             Writer::number(fmt::format("{}/{}", process.busy, process.concurrency), static_cast<double>(process.busy)),
             write.text(fmt::format("{}", fmt::join(process.queues, " "))),
             Writer::number(memory_text(static_cast<std::uint64_t>(std::max<std::int64_t>(0, process.rss_kb))),
                            static_cast<double>(process.rss_kb)),
             Writer::number(duration_text_of(std::max(1.0, up)), up),
             Writer::number(fmt::format("{}{}", duration_text_of(std::floor(beat)), late ? "!" : ""), beat,
                            late ? Look::bad : Look::plain),
             Writer::number(fmt::format("{:.1f}ms", static_cast<double>(process.rtt_us) / 1000),
                            static_cast<double>(process.rtt_us)),
             write.text(process.version)}});
  }
  return listing;
}

}  // namespace

std::string title_of(Pane pane) {
  switch (pane) {
    case Pane::workers:
      return "Workers";
    case Pane::queues:
      return "Queues";
    case Pane::classes:
      return "Classes";
    case Pane::crashes:
      return "Crashes";
    case Pane::processes:
      return "Processes";
  }
  return "";
}

Listing listing_of(const Model& model, Pane pane, WallTime now, const Glyphs& glyphs) {
  const Writer write{glyphs};
  if (pane == Pane::workers) return workers(model, write);
  if (pane == Pane::classes) return classes(model, write);
  if (!model.redis()) {
    Listing listing;
    listing.when_empty =
        model.away_since() ? "Redis has not answered yet: " + clean(model.error(), glyphs) : "asking Redis";
    return listing;
  }
  if (pane == Pane::queues) return queues(model, write);
  return pane == Pane::crashes ? crashes(model, now, write) : processes(model, now, write);
}

}  // namespace brood::watch
