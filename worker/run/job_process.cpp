#include "worker/run/job_process.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "shared/base/identity.hpp"
#include "shared/base/log.hpp"
#include "shared/base/log_line.hpp"
#include "shared/base/process_title.hpp"
#include "shared/base/random.hpp"
#include "shared/config/job_environment.hpp"
#include "shared/errors/error_services.hpp"
#include "shared/job/job_report.hpp"
#include "shared/job/page_text.hpp"
#include "worker/crash/crash_handler.hpp"
#include "worker/isolation/job_channel.hpp"
#include "worker/job/library_text.hpp"

namespace brood {
namespace {

constexpr std::size_t longest_line_of_backtrace = 500;

}  // namespace

void JobProcess::begin() {
  place.become_a_job();
  place.slot.record().job_start_time.store(process_start_time(getpid()));
  place.slot.record().job_pid.store(getpid());
  take_over_crash_handler();
  seed_anew();
  set_process_title(fmt::format("brood: job {} {}", place.setup.slot, place.capsule));
}

void JobProcess::main(UniqueFd socket) {
  JobChannel channel(std::move(socket));
  const JobOrder order = channel.take_order();
  tell_shard(order.shard);
  code.become_a_job(channel);
  Payload job = Payload::parse(order.payload);
  JobRun run{.entry = order.entry, .job = job, .queue = order.queue, .started = order.started};
  run.keeps_report = keeps_report(job);
  run.started_at = WallTime(std::chrono::nanoseconds(place.slot.record().started_at.load()));
  if (order.expired) run.expired = WallTime{};
  if (spans != nullptr) spans->begin_apart(job, run.started_at);
  title.show(job.display_class(), std::chrono::system_clock::to_time_t(wall_now()));

  // Decrypt before entering the sandbox, where OpenSSL may not find its files.  Then forget the keys, so that the job's
  // code cannot read them.
  code.open(run);
  place.registry.forget_keys();
  const std::optional<Failure> without_sandbox = sandboxes.enter(job, channel.descriptor(), code);
  if (without_sandbox || order.failure) {
    run.performed.kind = Performed::Kind::failed;
    run.performed.failure = without_sandbox ? *without_sandbox : *order.failure;
  } else {
    code.perform(run);
  }
  place.end_if_a_copy(job);

  const Performed& performed = run.performed;
  JobEnd end{.kind = performed.kind, .iteration_ended = run.iteration_ended, .delay = performed.delay};
  if (performed.kind == Performed::Kind::over_limit) end.message = utf8_prefix(performed.failure.message, longest_text);
  if (run.failed()) {
    run.runs_hooks = true;
    if (place.slot.entry(order.entry) != EntryState::failed) place.end_entry(order.entry, EntryState::failed);
    end.error_class = utf8_prefix(performed.failure.error_class, longest_text);
    end.message = utf8_prefix(performed.failure.message, longest_text);
    end.outcome = note_of(code.judge(run, !without_sandbox));
    if (reports_errors(place.config)) {
      for (const std::string& line : performed.failure.backtrace)
        end.backtrace.push_back(utf8_prefix(line, longest_line_of_backtrace));
    }
  }
  if (performed.kind == Performed::Kind::succeeded) end.result = std::move(run.result);
  for (const log::Fact& fact : log::standing_facts()) end.facts.emplace_back(fact.name, fact.value);
  place.output.flush();
  if (!left_behind.has_threads()) std::fflush(nullptr);  // a thread that waits in a read has locked its file
  log::flush();
  channel.end(end);
}

}  // namespace brood
