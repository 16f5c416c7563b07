#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <string>
#include <vector>

#include "shared/base/log_line.hpp"
#include "shared/base/paths.hpp"
#include "shared/base/units.hpp"
#include "shared/json/json_writer.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/machine/worker_stacks.hpp"
#include "supervisor/cli/terminal/count_text.hpp"
#include "supervisor/cli/terminal/terminal.hpp"
#include "worker/crash/symboliser.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto longest_wait = 2s;

constexpr const char* dump_footer =
    R"(Without SLOT all workers of this machine and user are asked, and those without a job only listed.  They answer within a
signal handler and go on.

Exit status: 0 every worker answered; 69 there is none; 75 one did not answer.)";

std::set<int> slots_of(const std::vector<std::string>& words) {
  std::set<int> slots;
  for (const std::string& word : words) {
    int slot = -1;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), slot);
    if (error != std::errc{} || end != word.data() + word.size() || slot < 0)
      throw UsageError(fmt::format("SLOT must be the number of a worker, not \"{}\"", log::printable(word)));
    slots.insert(slot);
  }
  return slots;
}

bool is_busy(const WorkerStack& worker) { return worker.seen.current >= 0; }

std::chrono::milliseconds age_of(const WorkerStack& worker) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::max(SteadyTime::duration(0), worker.seen_at - worker.seen.started_steady));
}

std::vector<Frame> frames_of(const WorkerStack& worker) {
  std::vector<Frame> frames = symbolise(worker.stack);
  return is_busy(worker) ? frames_of_job(std::move(frames)) : frames;
}

std::string text_of(const WorkerStack& worker, const Style& style) {
  std::string text = style.bold(fmt::format("worker {}  pid {}", worker.slot, worker.seen.pid));
  if (is_busy(worker))
    text +=
        fmt::format("  {} {}  queue {}  for {}", log::printable(worker.seen.job_class), log::printable(worker.seen.jid),
                    log::printable(worker.seen.queue), duration_text(age_of(worker)));
  else
    text += "  without a job";
  if (!worker.trouble.empty()) return text + "\n  " + style.yellow("it " + worker.trouble) + "\n\n";
  if (worker.stack.thread != worker.seen.pid) text += fmt::format("  thread {}", worker.stack.thread);
  text += "\n";
  int number = 0;
  for (const Frame& frame : frames_of(worker)) text += "  " + log::printable(to_text(number++, frame)) + "\n";
  return text + "\n";
}

// Workers with a job and silent workers come first.  Idle workers are only named, unless the user asked for them.
std::string text_of_all(const std::vector<WorkerStack>& workers, bool asked_for, const Style& style) {
  std::string text, idle;
  int idle_workers = 0;
  for (const WorkerStack& worker : workers) {
    const bool is_idle = !is_busy(worker) && worker.trouble.empty();
    if (!is_idle || asked_for) {
      text += text_of(worker, style);
      continue;
    }
    ++idle_workers;
    idle += fmt::format("{}{} (pid {})", idle.empty() ? "" : ", ", worker.slot, worker.seen.pid);
  }
  if (idle_workers == 0) return text;
  return text +
         style.bold(
             fmt::format("{} without a job", counted(static_cast<std::uint64_t>(idle_workers), "worker", "workers"))) +
         ": " + idle + "\n";
}

std::string json_of_frame(const Frame& frame) {
  return JsonWriter()
      .text("address", fmt::format("{:#x}", frame.address))
      .text("function", frame.function)
      .text("file", frame.file)
      .number("line", frame.line)
      .text("module", frame.module)
      .text("offset", fmt::format("{:#x}", frame.offset))
      .text("build_id", frame.build_id)
      .truth("inlined", frame.inlined)
      .object();
}

std::string json_of_job(const WorkerStack& worker) {
  return JsonWriter()
      .text("class", worker.seen.job_class)
      .text("jid", worker.seen.jid)
      .text("queue", worker.seen.queue)
      .decimal("age", std::chrono::duration<double>(age_of(worker)).count())
      .object();
}

std::string json_of_worker(const WorkerStack& worker) {
  const bool is_told = worker.trouble.empty();
  return JsonWriter()
      .text("identity", worker.identity)
      .number("slot", worker.slot)
      .number("pid", worker.seen.pid)
      .json("job", is_busy(worker) ? json_of_job(worker) : "null")
      .text_or_null("trouble", is_told ? "" : "it " + worker.trouble)
      .each("frames", is_told ? frames_of(worker) : std::vector<Frame>(), json_of_frame)
      .object();
}

}  // namespace

int dump_command(const std::vector<std::string>& args) {
  bool json = false;
  CommandLine line("Prints the stacks of this machine's workers, which run on: brood dump [SLOT...] [OPTIONS]",
                   "brood dump");
  line.flag("--json", json, "Answer in JSON, for programs");
  line.footer(dump_footer);
  const std::set<int> slots = slots_of(line.parse(args));

  const std::vector<WorkerStack> workers = ask_for_stacks(runtime_directory(), slots, longest_wait);
  if (json) {
    print_json(JsonWriter().each("workers", workers, json_of_worker).object() + "\n");
  } else {
    print(text_of_all(workers, !slots.empty(), Style::of_standard_output()));
  }
  if (workers.empty()) {
    fmt::print(stderr, "brood dump: no such worker of this user runs on this machine\n");
    return exit_status::unavailable;
  }
  const bool all_answered =
      std::all_of(workers.begin(), workers.end(), [](const WorkerStack& worker) { return worker.trouble.empty(); });
  return all_answered ? exit_status::ok : exit_status::try_again;
}

}  // namespace brood
