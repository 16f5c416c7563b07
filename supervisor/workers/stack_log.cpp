#include "supervisor/workers/stack_log.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <system_error>
#include <vector>

#include "shared/base/check.hpp"
#include "shared/base/log.hpp"
#include "shared/base/unique_fd.hpp"
#include "shared/scoreboard/dump_request.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto longest_run = 10s;
constexpr std::size_t longest_stack = 256 * 1024;  // as text

std::string content_of_file(int descriptor) {
  std::string text(longest_stack, '\0');
  const ssize_t size = pread(descriptor, text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, size)));
  return text.size() < longest_stack ? text : "";
}

}  // namespace

void StackLog::write() {
  const std::vector<DumpRequest> asked = orders_.ask_for_stacks();
  if (asked.empty() || child_.is_running()) return;
  try {
    child_ = children_.spawn(
        {.title = "brood: dump",
         .keep = program().descriptors(),
         .parent_death_signal = SIGKILL,
         .oom_score_adjustment = 100},
        Children::Deadline{steady_now() + longest_run}, [&] { return program().log_stacks(asked); }, nullptr);
  } catch (const std::system_error& error) {
    log::warn("stacks_not_logged", {{"reason", error.what()}});
  }
}

void StackLog::tell(int slot, Told told) {
  if (teller_.is_running()) return told("");
  const std::vector<DumpRequest> asked = orders_.ask_for_stacks(slot);
  if (asked.empty()) return told("");
  try {
    // A file in memory, not a pipe: the child can fill it without a reader.
    const auto file = std::make_shared<UniqueFd>(check("memfd_create", memfd_create("stack", MFD_CLOEXEC)));
    const int descriptor = file->get();
    std::vector<int> keep = program().descriptors();
    keep.push_back(descriptor);
    teller_ = children_.spawn(
        {.title = "brood: dump", .keep = std::move(keep), .parent_death_signal = SIGKILL, .oom_score_adjustment = 100},
        Children::Deadline{steady_now() + longest_run},
        [this, one = asked.front(), descriptor] { return program().tell_stack(one, descriptor); },
        [file, told](const Children::End& end) {
          told(end.status.exited && end.status.value == 0 ? content_of_file(file->get()) : "");
        });
  } catch (const std::system_error& error) {
    log::warn("stack_not_told", {{"reason", error.what()}});
    told("");
  }
}

}  // namespace brood
