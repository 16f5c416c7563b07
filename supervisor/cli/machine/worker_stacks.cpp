#include "supervisor/cli/machine/worker_stacks.hpp"

#include <fmt/format.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <fstream>
#include <iterator>
#include <thread>

#include "shared/base/check.hpp"
#include "shared/base/identity.hpp"
#include "shared/base/job_mark.hpp"
#include "shared/base/unique_fd.hpp"
#include "supervisor/cli/access/scoreboards.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr int question = SIGTTIN;

std::string content_of(pid_t pid, const char* file) {
  std::ifstream stream(fmt::format("/proc/{}/{}", pid, file));
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Whether the signal `question` is in the set that /proc/<pid>/status calls `name`, such as "SigBlk".
bool is_in_set(const std::string& status, std::string_view name) {
  const std::size_t line = status.find(fmt::format("\n{}:\t", name));
  if (line == status.npos) return false;
  const char* const digits = status.data() + line + name.size() + 3;
  std::uint64_t set = 0;
  std::from_chars(digits, status.data() + status.size(), set, 16);
  return (set >> (question - 1) & 1) != 0;
}

// Why a worker is silent, according to the kernel's state of it.
std::string silence_of(pid_t pid) {
  const std::string stat = content_of(pid, "stat"), wchan = content_of(pid, "wchan");
  const std::size_t name_end = stat.rfind(')');
  const char state = name_end == stat.npos || name_end + 2 >= stat.size() ? 'X' : stat[name_end + 2];
  const std::string place = wchan.empty() || wchan == "0" ? "" : " in " + wchan;
  if (state == 'X' || state == 'Z') return "has ended meanwhile";
  if (state == 'T' || state == 't') return "is stopped";
  if (state == 'D') return "does not answer: it sleeps uninterruptibly" + place;
  if (is_in_set(content_of(pid, "status"), "SigBlk")) return "does not answer: its job has blocked the signal" + place;
  return fmt::format("does not answer: its state is {}{}", state, place);
}

// If the job runs in a process of its own, that process is the silent one, unless the worker is stopped: then it cannot
// pass the question on.
std::string silence_of(const SlotSnapshot& worker) {
  const std::string of_worker = silence_of(worker.pid);
  return worker.job_pid > 0 && of_worker != "is stopped" ? silence_of(worker.job_pid) : of_worker;
}

// Request numbers of supervisors count from 1; this one is different from all of theirs.
std::uint32_t new_request() {
  std::uint32_t number = 0;
  check("getrandom", getrandom(&number, sizeof number, 0));
  return number | 0x8000'0000;
}

// Asks the worker.  Returns why that failed; empty if it did not.  The pidfd keeps meaning this process, even if
// another process gets its pid later.
std::string ask_worker(const SlotSnapshot& worker, StackRecord& answer, std::uint32_t request) {
  if (!worker.ready) return "is still starting";
  const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, worker.pid, 0)));
  if (!process || !process_lives(worker.pid, worker.start_time)) return "has ended meanwhile";
  // A job may have written a foreign pid into the scoreboard, and root may signal every process.
  if (file_locks_of(worker.pid).value_or(no_mark) == no_mark) return "was not asked: no supervisor has started it";
  // Without a handler the signal would stop the worker.
  if (!is_in_set(content_of(worker.pid, "status"), "SigCgt"))
    return "was not asked: its job has replaced the signal handler";
  clear_stack(answer);
  answer.request.store(request);
  if (syscall(SYS_pidfd_send_signal, process.get(), question, nullptr, 0) != 0) return "cannot be signalled";
  return "";
}

struct Asked {
  WorkerStack worker;
  const StackRecord* answer;
  std::uint32_t request;

  bool waits() const { return worker.trouble.empty() && worker.stack.state != StackState::complete; }
  void look() {
    CapturedStack stack = read_stack(*answer);
    if (stack.any() && stack.request == request) worker.stack = std::move(stack);
  }
};

std::vector<Scoreboard> scoreboards_in(const std::string& directory) {
  std::vector<Scoreboard> found;
  for (const std::string& path : scoreboard_paths(directory)) {
    try {
      found.push_back(Scoreboard::open(path, true));
    } catch (const std::exception&) {  // another version or user, or just gone
    }
  }
  return found;
}

}  // namespace

std::vector<WorkerStack> ask_for_stacks(const std::string& directory, const std::set<int>& slots,
                                        std::chrono::milliseconds patience) {
  std::vector<Scoreboard> boards = scoreboards_in(directory);
  std::vector<Asked> all;
  for (Scoreboard& board : boards) {
    for (int slot = 0; slot < board.slots(); ++slot) {
      if (!slots.empty() && !slots.contains(slot)) continue;
      const SlotSnapshot seen = snapshot(board.slot(slot));
      if (seen.pid <= 0 || !process_lives(seen.pid, seen.start_time)) continue;
      StackRecord& answer = board.slot(slot).dump;
      const std::uint32_t request = new_request();
      all.push_back(
          {{board.identity(), slot, seen, steady_now(), {}, ask_worker(seen, answer, request)}, &answer, request});
    }
  }

  const SteadyTime deadline = steady_now() + patience;
  while (std::any_of(all.begin(), all.end(), [](const Asked& one) { return one.waits(); })) {
    for (Asked& one : all) {
      if (one.waits()) one.look();
    }
    if (steady_now() >= deadline) break;
    std::this_thread::sleep_for(1ms);
  }

  std::vector<WorkerStack> stacks;
  for (Asked& one : all) {
    if (one.waits() && !one.worker.stack.any()) one.worker.trouble = silence_of(one.worker.seen);
    stacks.push_back(std::move(one.worker));
  }
  return stacks;
}

}  // namespace brood
