#include "worker/crash/thrown_stack.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "shared/base/clock.hpp"
#include "shared/base/unique_fd.hpp"
#include "shared/scoreboard/stack_record.hpp"
#include "worker/crash/frame.hpp"
#include "worker/crash/module_map.hpp"
#include "worker/crash/symboliser.hpp"

namespace brood {
namespace {

using std::chrono::milliseconds;

CapturedStack captured(const std::vector<std::uint64_t>& frames) {
  ModuleMap modules;
  modules.refresh();
  const auto record = std::make_unique<StackRecord>();
  for (const std::uint64_t frame : frames) {
    if (record->frame_count == max_frames) break;
    // The first frame of a record is an instruction's own address.  The module is looked up by the address of the call,
    // as readers of the record do: the return address may lie in the next segment.
    const std::uint64_t call = frame - 1;
    record->frames[record->frame_count] = record->frame_count == 0 ? call : frame;
    ++record->frame_count;
    const auto* known = record->modules;
    const bool noted = std::any_of(known, known + record->module_count, [&](const ModuleRecord& module) {
      return module.begin <= call && call < module.end;
    });
    if (!noted && record->module_count < max_modules && modules.describe(call, record->modules[record->module_count]))
      ++record->module_count;
  }
  record->pc = record->frame_count > 0 ? record->frames[0] : 0;
  record->state.store(static_cast<std::uint32_t>(StackState::complete));
  return read_stack(*record);
}

std::vector<std::string> lines_of(std::vector<Frame> frames) {
  std::vector<std::string> lines;
  for (const Frame& frame : frames_of_job(std::move(frames)))
    lines.push_back(to_text(static_cast<int>(lines.size()), frame));
  return lines;
}

// The body of the child, which is a copy of a worker.  As little as possible of the worker's code may run in it.
[[noreturn]] void write_lines(const CapturedStack& stack, milliseconds longest, int to) {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::string text;
  for (const std::string& line : lines_of(symbolise(stack, {.budget = longest / 2, .longest = longest / 2})))
    text += line + "\n";
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = write(to, rest.data(), rest.size());
    if (written <= 0) _exit(1);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  _exit(0);
}

// Reads until the child closes its end; nullopt if the deadline passes first.
std::optional<std::string> read_until(SteadyTime deadline, int from) {
  std::string text;
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_now()).count();
    pollfd waited{.fd = from, .events = POLLIN, .revents = 0};
    if (left <= 0) return std::nullopt;
    if (poll(&waited, 1, static_cast<int>(left)) <= 0) continue;
    char piece[4096];
    const ssize_t size = read(from, piece, sizeof piece);
    if (size == 0) return text;
    if (size > 0) text.append(piece, static_cast<std::size_t>(size));
    if (size < 0 && errno != EINTR) return std::nullopt;
  }
}

std::vector<std::string> named_lines(const CapturedStack& stack, milliseconds longest) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  UniqueFd from(ends[0]), to(ends[1]);
  const SteadyTime deadline = steady_now() + longest;
  // Not fork(): there libuv would close, in the child, the descriptor numbers that it had in the supervisor.
  const pid_t child = _Fork();
  if (child < 0) return {};
  if (child == 0) write_lines(stack, longest, to.get());
  to.reset();
  const auto said = read_until(deadline, from.get());
  if (!said) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const std::string text = said.value_or("");
  std::vector<std::string> lines;
  for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    lines.push_back(text.substr(begin, end - begin));
  return lines;
}

}  // namespace

std::vector<std::string> describe_throw(const std::vector<std::uint64_t>& frames, milliseconds longest) {
  if (frames.empty()) return {};
  const CapturedStack stack = captured(frames);
  std::vector<std::string> lines = named_lines(stack, longest);
  return lines.empty() ? lines_of(raw_frames(stack)) : lines;
}

}  // namespace brood
