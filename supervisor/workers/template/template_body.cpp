#include "supervisor/workers/template/template_body.hpp"

#include <sys/socket.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include "shared/base/log.hpp"
#include "shared/base/random.hpp"
#include "supervisor/process/fork_child.hpp"
#include "supervisor/workers/template/huge_pages.hpp"
#include "supervisor/workers/template/shared_by_copies.hpp"

namespace brood {
namespace {

constexpr int oom_score_beyond_a_template = 150;
constexpr std::size_t longest_reason = 2000;

void say(int line, TemplateIs what, const std::string& text) {
  const std::string message = static_cast<char>(what) + text.substr(0, longest_reason);
  send(line, message.data(), message.size(), MSG_NOSIGNAL);
}

// Waits for the supervisor's byte.  The worker must not begin before it: the supervisor does not know the worker yet.
bool may_begin(int control) {
  char byte = 0;
  ssize_t got = 0;
  do got = recv(control, &byte, 1, 0);
  while (got < 0 && errno == EINTR);
  return got == 1;
}

int run_copy(int line, pid_t supervisor, const ReceivedRequest& wanted, const WorkerTemplate::Setup& setup) {
  close(line);
  if (!may_begin(wanted.descriptors.control)) return EX_OK;
  if (!end_with_parent(SIGTERM, supervisor)) return EX_OK;
  seed_anew();
  return setup.worker(wanted.request, wanted.descriptors);
}

ForkAnswer fork_worker(int line, pid_t supervisor, const ReceivedRequest& wanted, const WorkerTemplate::Setup& setup) {
  ForkAnswer answer{.slot = wanted.request.slot};
  try {
    answer.pid = spawn_sibling({.title = "brood: worker " + std::to_string(wanted.request.slot),
                                .keep = {},
                                .oom_score_adjustment = oom_score_beyond_a_template},
                               [&] { return run_copy(line, supervisor, wanted, setup); });
  } catch (const std::system_error& error) {
    answer.error = error.code().value();
  }
  close(wanted.descriptors.control);
  close(wanted.descriptors.output);
  return answer;
}

// Loads what the workers need.  Returns false if there will be no copies.
bool load(int line, const WorkerTemplate::Setup& setup) {
  const std::set<int> own = open_descriptors();
  try {
    if (!setup.program->preload()) {
      say(line, TemplateIs::for_nothing, "");
      return false;
    }
  } catch (const std::exception& error) {
    say(line, TemplateIs::failed, error.what());
    return false;
  }
  std::fflush(nullptr);  // otherwise each copy would print the buffers again
  const std::vector<std::string> shared = shared_by_copies(own);
  if (shared.empty()) {
    gather_into_huge_pages();
    say(line, TemplateIs::ready, "");
    return true;
  }
  std::string reason = "the libraries have left behind ";
  for (std::size_t i = 0; i < shared.size(); ++i) reason += (i == 0 ? "" : ", ") + shared[i];
  say(line, TemplateIs::unfit, reason);
  return false;
}

}  // namespace

int run_template(int line, const WorkerTemplate::Setup& setup) {
  const pid_t supervisor = getppid();
  if (!load(line, setup)) return EX_OK;
  while (const auto wanted = receive_request(line)) {
    const ForkAnswer answer = fork_worker(line, supervisor, *wanted, setup);
    if (send(line, &answer, sizeof answer, MSG_NOSIGNAL) < 0) break;
  }
  return EX_OK;
}

}  // namespace brood
