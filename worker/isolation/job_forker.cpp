#include "worker/isolation/job_forker.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>

#include "shared/base/check.hpp"
#include "shared/base/log.hpp"
#include "shared/base/process_title.hpp"
#include "worker/guard/offspring.hpp"
#include "worker/guard/thread_count.hpp"
#include "worker/job/job_registry.hpp"

namespace brood {
namespace {

// An order of the worker to its forker; each is one packet.
struct ForkerOrder {
  enum What : std::uint32_t { run, pass } what;
  std::int32_t signal;  // to be passed on
};

std::atomic<int> socket_while_job_runs{-1};

std::int64_t cpu_us_of(const rusage& used) {
  return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1'000'000 + used.ru_utime.tv_usec + used.ru_stime.tv_usec;
}

std::int64_t own_cpu_us() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return used.tv_sec * 1'000'000 + used.tv_nsec / 1'000;
}

bool send_order(int socket, const ForkerOrder& order) {
  return ::send(socket, &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof order;
}

// Returns 0, or the errno with which the kernel refuses to pass on a descriptor now.
int send_with_descriptor(int socket, const ForkerOrder& order, int descriptor) {
  iovec bytes{const_cast<ForkerOrder*>(&order), sizeof order};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptor)] = {};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof descriptor);
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  if (sendmsg(socket, &message, MSG_NOSIGNAL) == sizeof order) return 0;
  // ETOOMANYREFS: processes of this user have too many descriptors under way in sockets.  They may be a job's, and are
  // freed when that ends.
  if (errno == ETOOMANYREFS) return errno;
  throw ForkerGone(std::string("it takes no order: ") + std::strerror(errno));
}

struct ReceivedOrder {
  ForkerOrder order{};
  UniqueFd channel;
};

// Returns nullopt if the worker is gone, or the message is none of a worker.
std::optional<ReceivedOrder> receive_order(int socket) {
  ReceivedOrder received;
  iovec bytes{&received.order, sizeof received.order};
  int descriptor = -1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptor)] = {};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
    std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
    received.channel.reset(descriptor);
  }
  if (got != sizeof received.order) return std::nullopt;
  return received;
}

// The forker: a copy of the worker that forks a process for each job.
class Forker {
 public:
  Forker(const JobForker::Setup& setup, int socket, const sigset_t& mask_of_jobs)
      : setup_(setup), socket_(socket), mask_of_jobs_(mask_of_jobs) {
    set_process_title(setup.title);
    log::forget_waiting();
    adopt_orphans();
    setup.let_go();
    struct sigaction by_default {};
    by_default.sa_handler = SIG_DFL;  // if SIGCHLD is ignored, no child can be waited for
    check("sigaction", sigaction(SIGCHLD, &by_default, &child_signal_of_jobs_));
    sigset_t child_signal;
    sigemptyset(&child_signal);
    sigaddset(&child_signal, SIGCHLD);
    ended_children_.reset(check("signalfd", signalfd(-1, &child_signal, SFD_CLOEXEC | SFD_NONBLOCK)));
  }

  // Serves orders until the worker closes its end.
  void serve() {
    for (;;) {
      pollfd waits[] = {{socket_, POLLIN, 0}, {ended_children_.get(), POLLIN, 0}};
      if (poll(waits, 2, -1) < 0) continue;
      if (waits[1].revents != 0) reap();
      if (waits[0].revents != 0 && !obey()) return;
    }
  }

 private:
  bool obey() {
    std::optional<ReceivedOrder> received = receive_order(socket_);
    if (!received) return false;
    if (received->order.what == ForkerOrder::pass) {
      if (job_ > 0) kill(job_, received->order.signal);
      return true;
    }
    if (received->order.what != ForkerOrder::run || !received->channel || job_ > 0) return false;
    run(std::move(received->channel));
    return true;
  }

  void run(UniqueFd channel) {
    const pid_t self = getpid();
    job_ = fork();
    if (job_ == 0) be_the_job(self, std::move(channel));
    if (job_ < 0) {
      job_ = 0;
      say({.fork_error = errno});
    }
  }

  [[noreturn]] void be_the_job(pid_t forker, UniqueFd channel) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != forker) _exit(EXIT_FAILURE);  // the forker ended before prctl()
    ::close(socket_);
    ended_children_.reset();
    try {
      setup_.begin();
      sigaction(SIGCHLD, &child_signal_of_jobs_, nullptr);
      sigprocmask(SIG_SETMASK, &mask_of_jobs_, nullptr);
      setup_.perform(std::move(channel));
    } catch (const std::exception& error) {
      log::error("job_process_failed", {{"reason", error.what()}});
      log::flush();
      _exit(EXIT_FAILURE);
    }
    // Not exit(): only the worker runs the exit handlers of libraries, once.
    _exit(EXIT_SUCCESS);
  }

  // Reaps processes that the job has started.  Once the job itself has ended, kills the rest.
  void reap() {
    signalfd_siginfo ignored{};
    while (::read(ended_children_.get(), &ignored, sizeof ignored) > 0) {
    }
    std::optional<int> status_of_job;
    for (;;) {
      int status = 0;
      rusage used{};
      const pid_t ended = wait4(-1, &status, WNOHANG, &used);
      if (ended <= 0) break;
      use_.cpu_us += cpu_us_of(used);
      use_.peak_kb = std::max(use_.peak_kb, static_cast<std::uint64_t>(std::max(used.ru_maxrss, 0L)));
      if (ended == job_) status_of_job = status;
    }
    if (!status_of_job) return;
    job_ = 0;
    const OffspringUse left = end_offspring();
    say({.status = *status_of_job,
         .killed = left.killed,
         .cpu_us = use_.cpu_us + left.cpu_us,
         .peak_kb = std::max(use_.peak_kb, left.peak_kb),
         .forkers_cpu_us = own_cpu_us()});
    use_ = {};
  }

  void say(const JobForker::End& end) const {
    if (::send(socket_, &end, sizeof end, MSG_NOSIGNAL) != sizeof end) _exit(EXIT_FAILURE);
  }

  const JobForker::Setup& setup_;
  const int socket_;
  const sigset_t mask_of_jobs_;
  struct sigaction child_signal_of_jobs_ {};
  UniqueFd ended_children_;
  pid_t job_ = 0;  // 0: none runs
  OffspringUse use_;
};

// As fork(), but the child's end sends no signal, so that no wait() of a job finds it.  The C library does not know of
// this fork.  That does no harm here: the copy has one thread, and only calls fork().
pid_t fork_unseen() { return static_cast<pid_t>(syscall(SYS_clone, 0UL, nullptr, nullptr, nullptr, 0UL)); }

}  // namespace

void JobForker::require_one_thread(const std::string& isolated_class) {
  const std::vector<std::string> others = names_of_other_threads();
  if (others.empty()) return;
  throw LibraryError(fmt::format(
      "class {} has isolation = \"process\", which copies this process, and a job library has started {} in it ({}): a "
      "copy has none of them, and the locks that they hold; start threads in the jobs that need them, or set isolation "
      "= \"worker\" in [classes.\"{}\"]",
      isolated_class, others.size() == 1 ? "a thread" : fmt::format("{} threads", others.size()),
      fmt::join(others, ", "), isolated_class));
}

JobForker::JobForker(Setup setup, const std::string& isolated_class) {
  require_one_thread(isolated_class);
  log::flush();
  std::fflush(nullptr);  // else each job's process would write the content of our buffers
  tzset();               // else each job's process would read the time zone
  int ends[2];
  check("socketpair", socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
  socket_.reset(ends[0]);
  UniqueFd other(ends[1]);
  struct stat status {};
  check("fstat", fstat(socket_.get(), &status));
  device_ = status.st_dev;
  inode_ = status.st_ino;

  const pid_t worker = getpid();
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  pid_ = fork_unseen();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != worker) _exit(EXIT_FAILURE);
    try {
      socket_.reset();
      Forker(setup, other.get(), before).serve();
    } catch (const std::exception& error) {
      log::error("job_forker_failed", {{"reason", error.what()}});
      log::flush();
    }
    _exit(EXIT_SUCCESS);
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  check("clone", pid_);
}

bool JobForker::is_there() const {
  struct stat status {};
  if (fstat(socket_.get(), &status) != 0 || status.st_dev != device_ || status.st_ino != inode_) return false;
  char byte = 0;
  return recv(socket_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

int JobForker::start(UniqueFd channel) {
  const int error = send_with_descriptor(socket_.get(), {ForkerOrder::run, 0}, channel.get());
  if (error == 0) socket_while_job_runs.store(socket_.get());
  return error;
}

std::optional<JobForker::End> JobForker::take_end() {
  End end;
  const ssize_t got = recv(socket_.get(), &end, sizeof end, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  socket_while_job_runs.store(-1);
  if (got != sizeof end) throw ForkerGone("it has ended");
  return end;
}

void JobForker::signal(int signal) const { send_order(socket_.get(), {ForkerOrder::pass, signal}); }

int JobForker::leave() {
  socket_while_job_runs.store(-1);
  socket_.reset();
  int status = 0;
  while (waitpid(pid_, &status, __WALL) < 0 && errno == EINTR) {
  }
  return status;
}

bool pass_to_job_process(int signal) {
  const int socket = socket_while_job_runs.load();
  if (socket < 0) return false;
  const int before = errno;
  const bool sent = send_order(socket, {ForkerOrder::pass, signal});
  errno = before;
  return sent;
}

}  // namespace brood
