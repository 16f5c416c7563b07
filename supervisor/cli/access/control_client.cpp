#include "supervisor/cli/access/control_client.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "shared/base/clock.hpp"
#include "shared/base/identity.hpp"
#include "shared/base/unique_fd.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "supervisor/cli/access/scoreboards.hpp"
#include "supervisor/control/asker.hpp"
#include "supervisor/control/control_path.hpp"
#include "supervisor/control/control_protocol.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t longest_line = 1024 * 1024;

// The pid in "<host>:<pid>:<nonce>"; 0 if this is no identity.
pid_t pid_in(const std::string& identity) {
  const std::size_t nonce = identity.rfind(':');
  const std::size_t colon = nonce == identity.npos || nonce == 0 ? identity.npos : identity.rfind(':', nonce - 1);
  if (colon == identity.npos) return 0;
  pid_t pid = 0;
  std::from_chars(identity.data() + colon + 1, identity.data() + nonce, pid);
  return pid;
}

int milliseconds_until(SteadyTime deadline) {
  return static_cast<int>(std::max(0ms, std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_now())).count());
}

UniqueFd connect_within(const LocalSupervisor& supervisor, SteadyTime deadline) {
  for (;;) {
    try {
      return connect_to(supervisor.control);
    } catch (const std::system_error& error) {
      const bool queue_is_full = error.code().value() == EAGAIN;
      if (!queue_is_full || steady_now() >= deadline) throw NoAnswer(error.what());
    }
    std::this_thread::sleep_for(10ms);
  }
}

// A job can replace its supervisor's socket, by its own socket with forged answers, or by a link to the socket of
// another user's supervisor, which an order of root would then reach.
void require_supervisor(const UniqueFd& connection, const LocalSupervisor& supervisor) {
  const auto listener = Asker::of(connection.get());
  // 0: the listener is in another pid namespace
  if (!listener || listener->pid() == 0) return;
  if (listener->user() != supervisor.user)
    throw NoAnswer(fmt::format("{} leads to process {} of another user: a job may have put it there",
                               supervisor.control, listener->pid()));
  if (listener->pid() == supervisor.pid) return;
  throw NoAnswer(
      fmt::format("process {} listens at {} in its place: a job may have put that socket there. Signals still reach "
                  "the supervisor (kill -TERM {}); its next start makes the socket anew",
                  listener->pid(), supervisor.control, supervisor.pid));
}

class Conversation {
 public:
  explicit Conversation(UniqueFd fd) : fd_(std::move(fd)) {}

  void send(std::string_view text, SteadyTime deadline) {
    while (!text.empty()) {
      const ssize_t size = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (size < 0 && errno == EINTR) continue;
      if (size < 0 && errno == EPIPE) return;  // we were refused: the reason can still be read
      if (size < 0 && errno != EAGAIN) fail("send");
      if (size < 0)
        wait_for(POLLOUT, deadline);
      else
        text.remove_prefix(static_cast<std::size_t>(size));
    }
  }

  std::string line(SteadyTime deadline) {
    for (;;) {
      if (const std::size_t end = received_.find('\n'); end != received_.npos) {
        const std::string line = received_.substr(0, end);
        received_.erase(0, end + 1);
        return line;
      }
      if (received_.size() > longest_line) throw NoAnswer("it sends an endless line");
      receive(deadline);
    }
  }

 private:
  void receive(SteadyTime deadline) {
    std::array<char, 16 * 1024> bytes;
    const ssize_t size = recv(fd_.get(), bytes.data(), bytes.size(), 0);
    if (size > 0) received_.append(bytes.data(), static_cast<std::size_t>(size));
    if (size == 0 || (size < 0 && errno == ECONNRESET)) throw NoAnswer("it ended before it answered");
    if (size < 0 && errno != EAGAIN && errno != EINTR) fail("recv");
    if (size < 0) wait_for(POLLIN, deadline);
  }

  void wait_for(short events, SteadyTime deadline) {
    pollfd peer{fd_.get(), events, 0};
    if (poll(&peer, 1, milliseconds_until(deadline)) == 0) throw NoAnswer("it does not answer");
  }

  [[noreturn]] static void fail(const char* call) {
    throw NoAnswer(std::system_error(errno, std::generic_category(), call).what());
  }

  UniqueFd fd_;
  std::string received_;
};

}  // namespace

std::vector<LocalSupervisor> local_supervisors(const std::string& directory) {
  std::vector<LocalSupervisor> found;
  for (const std::string& path : scoreboard_paths(directory)) {
    try {
      const Scoreboard board = Scoreboard::open(path, false);
      const std::string identity = board.identity();
      const pid_t pid = pid_in(identity);
      struct stat about {};
      if (pid_is_taken(pid) && lstat(path.c_str(), &about) == 0)
        found.push_back({identity, pid, control_socket_path(directory, identity), board.instance(), about.st_uid});
    } catch (const std::exception&) {  // another version or user, or just gone
    }
  }
  return found;
}

ControlAnswer ask(const LocalSupervisor& supervisor, const std::string& verb, const std::vector<std::string>& arguments,
                  std::chrono::milliseconds patience, const std::function<void(const std::string&)>& progress) {
  UniqueFd connection = connect_within(supervisor, steady_now() + patience);
  require_supervisor(connection, supervisor);
  Conversation conversation(std::move(connection));
  conversation.send(text_of(ControlRequest{verb, arguments}), steady_now() + patience);
  for (;;) {
    const auto line = parse_control_line(conversation.line(steady_now() + patience));
    if (!line) throw NoAnswer("it speaks another protocol");
    if (line->kind != ControlLine::Kind::progress) return {line->kind == ControlLine::Kind::ok, line->text};
    if (progress) progress(line->text);
  }
}

}  // namespace brood
