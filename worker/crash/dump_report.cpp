#include "worker/crash/dump_report.hpp"

#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <thread>

#include "shared/base/clock.hpp"
#include "shared/base/log.hpp"
#include "shared/json/json_writer.hpp"
#include "worker/crash/frame.hpp"
#include "worker/crash/symboliser.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto longest_wait = 2s;
constexpr auto look_interval = 2ms;

bool has_answered(const DumpRequest& asked, const CapturedStack& stack) {
  return stack.state == StackState::complete && stack.request == asked.request;
}

void wait_for_answers(const std::vector<DumpRequest>& asked) {
  const SteadyTime until = steady_now() + longest_wait;
  const auto all_answered = [&] {
    return std::all_of(asked.begin(), asked.end(),
                       [](const DumpRequest& one) { return has_answered(one, read_stack(one.record->dump)); });
  };
  while (!all_answered() && steady_now() < until) std::this_thread::sleep_for(look_interval);
}

void log_stack(const DumpRequest& asked) {
  const SlotSnapshot seen = snapshot(*asked.record);
  const CapturedStack stack = read_stack(asked.record->dump);
  const bool busy = seen.current >= 0;
  log::info("dump", {{"slot", asked.slot},
                     {"worker_pid", asked.pid},
                     {"jid", busy ? seen.jid : ""},
                     {"class", busy ? seen.job_class : ""},
                     {"answered", has_answered(asked, stack)}});
  if (!has_answered(asked, stack)) return;
  int number = 0;
  for (const Frame& frame : frames_of_job(symbolise(stack))) {
    log::info("stack", {{"worker_pid", asked.pid}, {"frame", to_text(number++, frame)}});
    log::flush();
  }
}

}  // namespace

int log_stacks(const std::vector<DumpRequest>& asked) {
  wait_for_answers(asked);
  for (const DumpRequest& one : asked) log_stack(one);
  return EX_OK;
}

int tell_stack(const DumpRequest& asked, int descriptor) {
  wait_for_answers({asked});
  const SlotSnapshot seen = snapshot(*asked.record);
  const CapturedStack stack = read_stack(asked.record->dump);
  const bool busy = seen.current >= 0;
  std::vector<std::string> frames;
  if (has_answered(asked, stack)) {
    int number = 0;
    for (const Frame& frame : frames_of_job(symbolise(stack))) frames.push_back(to_text(number++, frame));
  }
  const std::string text = JsonWriter()
                               .number("slot", asked.slot)
                               .number("pid", asked.pid)
                               .text("class", busy ? seen.job_class : "")
                               .text("jid", busy ? seen.jid : "")
                               .truth("answered", has_answered(asked, stack))
                               .texts("frames", frames)
                               .object();
  for (std::size_t written = 0; written < text.size();) {
    const ssize_t size = write(descriptor, text.data() + written, text.size() - written);
    if (size <= 0) return EX_IOERR;
    written += static_cast<std::size_t>(size);
  }
  return EX_OK;
}

}  // namespace brood
