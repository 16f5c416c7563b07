// Jobs that try to leave their sandbox in every known way, and one that does what it may.  They write their findings
// into a file, one write per line.
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <brood/job.hpp>

#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/lifecycle/escape_attempts.hpp"

namespace {

void append(const std::string& path, const std::string& line) {
  const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  const std::string text = line + "\n";
  if (file < 0 || write(file, text.data(), text.size()) < 0) throw std::runtime_error("cannot write " + path);
  close(file);
}

std::string content(const std::string& path) {
  std::ostringstream text;
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  text << file.rdbuf();
  return text.str();
}

bool can_open(const std::string& path, int flags) {
  const int file = open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (file >= 0) close(file);
  return file >= 0;
}

bool can_socket(int family, int type) {
  const int one = socket(family, type, 0);
  if (one >= 0) close(one);
  return one >= 0;
}

sigjmp_buf before_the_call;

// By int 0x80, the call of a 32-bit program, whose numbers mean something else: 20 is getpid().
bool can_call_as_32_bit() {
#if defined(__x86_64__)
  // On a machine without that call, it is a fault.
  struct sigaction back {
  }, before{};
  back.sa_handler = [](int) { siglongjmp(before_the_call, 1); };
  sigaction(SIGSEGV, &back, &before);
  volatile long result = 20;
  if (sigsetjmp(before_the_call, 1) == 0) {
    long number = 20;
    asm volatile("int $0x80" : "+a"(number) : : "memory", "r8", "r9", "r10", "r11");
    result = number;
  } else {
    result = -1;
  }
  sigaction(SIGSEGV, &before, nullptr);
  return result > 0;
#else
  return false;
#endif
}

bool can_call_as_x32() {
#if defined(__x86_64__)
  return syscall(0x40000000 + SYS_getpid) > 0;
#else
  return false;
#endif
}

// Whether a shared mapping is a scoreboard and is writable, or can be made so.
bool can_write_a_scoreboard() {
  std::ifstream maps("/proc/self/maps");
  bool could = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.find(".scoreboard") == std::string::npos) continue;
    unsigned long begin = 0, end = 0;
    char rights[5] = {};
    std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, rights);
    if (rights[1] == 'w') could = true;
    if (mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE) == 0) could = true;
  }
  return could;
}

// An attempt that would affect later ones runs in a process of its own.
bool in_child(const std::function<bool()>& attempt) {
  const pid_t child = fork();
  if (child == 0) _exit(attempt() ? 0 : 1);
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

bool has_another_descriptor() {
  int others = 0;
  for (int fd = 3; fd < 4096; ++fd) {
    struct stat status {};
    if (fstat(fd, &status) == 0) ++others;
  }
  return others > 1;  // 1 is the channel to its own worker
}

struct Attempts : EscapeTargets {
  std::vector<EscapeAttempt> all() const {
    const std::string outside = directory + "/outside", file = outside + "/file";
    return {
        {"have another descriptor", has_another_descriptor},
        {"write a file outside", [=, this] { return can_open(file, O_WRONLY); }},
        {"truncate a file outside", [=, this] { return truncate(file.c_str(), 0) == 0; }},
        {"make a file outside", [=, this] { return can_open(outside + "/new", O_WRONLY | O_CREAT); }},
        {"make a directory outside", [=, this] { return mkdir((outside + "/dir").c_str(), 0700) == 0; }},
        {"make a link outside", [=, this] { return symlink("/", (outside + "/link").c_str()) == 0; }},
        {"remove a file outside", [=, this] { return unlink(file.c_str()) == 0; }},
        {"rename a file outside", [=, this] { return rename(file.c_str(), (outside + "/other").c_str()) == 0; }},
        {"take a file from outside",
         [=, this] { return link(file.c_str(), (directory + "/out/linked").c_str()) == 0; }},
        {"change modes outside", [=, this] { return chmod(file.c_str(), 0777) == 0; }},
        {"change modes by a descriptor",
         [=, this] {
           const int in = open((directory + "/in/text").c_str(), O_RDONLY | O_CLOEXEC);
           const bool changed = in >= 0 && fchmod(in, 0777) == 0;
           close(in);
           return changed;
         }},
        {"change owners outside", [=, this] { return chown(file.c_str(), 1, 1) == 0; }},
        {"change times outside", [=, this] { return utimensat(AT_FDCWD, file.c_str(), nullptr, 0) == 0; }},
        {"set attributes outside", [=, this] { return setxattr(file.c_str(), "user.a", "b", 1, 0) == 0; }},
        {"read a secret", [=, this] { return can_open(secret, O_RDONLY); }},
        {"read a secret through the root of a process",
         [=, this] { return can_open("/proc/" + std::to_string(worker) + "/root" + secret, O_RDONLY); }},
        {"list another directory", [=, this] { return can_open(outside, O_RDONLY | O_DIRECTORY); }},
        {"read the worker's memory",
         [=, this] { return can_open("/proc/" + std::to_string(worker) + "/mem", O_RDONLY); }},
        {"write the worker's memory",
         [=, this] { return can_open("/proc/" + std::to_string(worker) + "/mem", O_RDWR); }},
        {"read the worker's environment",
         [=, this] { return can_open("/proc/" + std::to_string(worker) + "/environ", O_RDONLY); }},
        {"make a device", [=, this] { return mknod((directory + "/out/null").c_str(), S_IFCHR | 0600, 0x103) == 0; }},
        {"open a socket of the internet", [] { return can_socket(AF_INET, SOCK_STREAM); }},
        {"open a datagram socket", [] { return can_socket(AF_INET6, SOCK_DGRAM); }},
        {"open a local socket", [] { return can_socket(AF_UNIX, SOCK_STREAM); }},
        {"open a socket of the kernel", [] { return can_socket(AF_NETLINK, SOCK_RAW); }},
        {"open a raw socket", [] { return can_socket(AF_PACKET, SOCK_RAW); }},
        {"send a datagram by one of a pair of sockets",
         [=, this] {
           int ends[2];
           if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) != 0) return false;
           sockaddr_un there{};
           there.sun_family = AF_UNIX;
           std::strncpy(there.sun_path, (directory + "/outside/socket").c_str(), sizeof there.sun_path - 1);
           const ssize_t sent =
               sendto(ends[0], "x", 1, MSG_DONTWAIT, reinterpret_cast<const sockaddr*>(&there), sizeof there);
           close(ends[0]);
           close(ends[1]);
           return sent == 1;
         }},
        {"set up io_uring",
         [] {
           char parameters[120] = {};
           return syscall(425, 4, parameters) >= 0;
         }},
        {"signal the worker", [=, this] { return kill(worker, SIGCONT) == 0; }},
        {"signal the parent", [] { return kill(getppid(), SIGCONT) == 0; }},
        {"signal the supervisor", [=, this] { return kill(supervisor, SIGCONT) == 0; }},
        {"kill a bystander", [=, this] { return kill(bystander, SIGKILL) == 0; }},
        {"kill a bystander by a queued signal",
         [=, this] {
           siginfo_t info{};
           info.si_code = SI_QUEUE;
           return syscall(SYS_rt_sigqueueinfo, bystander, SIGKILL, &info) == 0;
         }},
        {"kill a bystander by its descriptor",
         [=, this] {
           const long fd = syscall(434, bystander, 0);
           return fd >= 0 && syscall(424, fd, SIGKILL, nullptr, 0) == 0;
         }},
        {"signal all", [] { return kill(-1, 0) == 0; }},
        {"have a bystander signalled by a file",
         [=, this] {
           int ends[2];
           if (pipe(ends) != 0 || fcntl(ends[0], F_SETOWN, bystander) != 0) return false;
           fcntl(ends[0], F_SETSIG, SIGKILL);
           fcntl(ends[0], F_SETFL, O_ASYNC);
           if (write(ends[1], "x", 1) < 0) return true;
           poll(nullptr, 0, 50);
           return kill(bystander, 0) != 0 && errno == ESRCH;
         }},
        {"trace the worker", [=, this] { return ptrace(PTRACE_SEIZE, worker, nullptr, nullptr) == 0; }},
        {"trace a bystander", [=, this] { return ptrace(PTRACE_SEIZE, bystander, nullptr, nullptr) == 0; }},
        {"write into a bystander",
         [=, this] {
           char byte = 1;
           iovec local{&byte, 1}, remote{&byte, 1};
           return process_vm_writev(bystander, &local, 1, &remote, 1, 0) > 0;
         }},
        {"take a bystander's descriptor",
         [=, this] {
           const long fd = syscall(434, bystander, 0);
           return fd >= 0 && syscall(438, fd, 1, 0) >= 0;
         }},
        {"limit a bystander",
         [=, this] {
           const rlimit none{0, 0};
           return syscall(SYS_prlimit64, bystander, RLIMIT_CORE, &none, nullptr) == 0;
         }},
        {"slow a bystander down",
         [=, this] { return setpriority(PRIO_PROCESS, static_cast<id_t>(bystander), 19) == 0; }},
        {"move a bystander to one processor",
         [=, this] {
           cpu_set_t set;
           CPU_ZERO(&set);
           CPU_SET(0, &set);
           return sched_setaffinity(bystander, sizeof set, &set) == 0;
         }},
        {"share memory by a key", [] { return shmget(4711, 4096, IPC_CREAT | 0600) >= 0; }},
        {"write a scoreboard", can_write_a_scoreboard},
        {"make a namespace of users", [] { return in_child([] { return unshare(CLONE_NEWUSER) == 0; }); }},
        {"make a namespace of mounts", [] { return in_child([] { return unshare(CLONE_NEWNS) == 0; }); }},
        {"clone into a namespace",
         [] {
           const long child = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, nullptr, nullptr, 0);
           if (child == 0) _exit(0);
           if (child > 0) waitpid(static_cast<pid_t>(child), nullptr, 0);
           return child > 0;
         }},
        {"clone by a call that hides its flags",
         [] {
           std::uint64_t arguments[11] = {CLONE_NEWUSER, 0, 0, 0, SIGCHLD};
           const long child = syscall(435, arguments, sizeof arguments);
           if (child == 0) _exit(0);
           if (child > 0) waitpid(static_cast<pid_t>(child), nullptr, 0);
           return child > 0;
         }},
        {"join the worker's namespaces",
         [=, this] {
           const long fd = syscall(434, worker, 0);
           return fd >= 0 && in_child([&] { return setns(static_cast<int>(fd), CLONE_NEWNS) == 0; });
         }},
        {"change the root", [=, this] { return in_child([&] { return chroot((directory + "/out").c_str()) == 0; }); }},
        {"load a program into the kernel", [] { return syscall(SYS_bpf, 5, nullptr, 0) >= 0 || errno == EFAULT; }},
        {"call as a 32-bit program", can_call_as_32_bit},
        {"call as an x32 program", can_call_as_x32},
        {"write by another program",
         [=, this] {
           const std::string command = "echo escaped > " + outside + "/by_shell";
           return std::system((command + " 2>/dev/null").c_str()) == 0;
         }},
    };
  }
};

}  // namespace

void try_all(const std::string& directory, const std::vector<EscapeAttempt>& attempts) {
  for (const auto& [name, attempt] : attempts)
    append(directory + "/out/attempts", (attempt() ? "succeeded: " : "refused: ") + std::string(name));
}

struct Escapes {
  std::string directory, secret;
  int worker = 0, supervisor = 0, bystander = 0;
  void perform() const {
    const Attempts attempts{{directory, secret, worker, supervisor, bystander}};
    try_all(directory, attempts_by_calls(attempts));
    try_all(directory, attempts_by_files(attempts));
    try_all(directory, attempts.all());
  }
};

// Tries only what no sandbox allows.
struct Reaches {
  std::string directory, secret;
  int worker = 0, supervisor = 0, bystander = 0;
  void perform() const { try_all(directory, attempts_by_calls({directory, secret, worker, supervisor, bystander})); }
};

struct Works {
  std::string directory;
  void perform() const {
    append(directory + "/out/works", content(directory + "/in/text"));
    std::thread([&] { append(directory + "/out/works", "thread"); }).join();
    if (std::system(("echo program >> " + directory + "/out/works").c_str()) != 0)
      throw std::runtime_error("no program ran");
    if (rename((directory + "/out/works").c_str(), (directory + "/out/worked").c_str()) != 0)
      throw std::runtime_error("it cannot be renamed");
    const pid_t child = fork();
    if (child == 0) {
      pause();
      _exit(0);
    }
    if (kill(child, SIGKILL) != 0) throw std::runtime_error("it cannot end what it started");
    waitpid(child, nullptr, 0);
  }
};

struct Waits {
  std::string directory;
  void perform(const brood::Context& context) const {
    append(directory + "/out/waits", "now");
    while (!context.stopping()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    append(directory + "/out/waited", "told to stop");
  }
};

struct Extends {
  std::string directory;
  void perform(const brood::Context& context) const {
    context.extend_timeout(std::chrono::hours(1));
    while (!context.stopping()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    append(directory + "/out/extended", "told to stop");
  }
};

struct Crashed {
  std::string directory;
  void perform() const {
    append(directory + "/out/crashing", "now");
    *reinterpret_cast<volatile int*>(8) = 1;
  }
};

struct Failed {
  void perform() const { throw std::domain_error("as it should"); }
};

struct Grows {
  std::string directory;
  int megabytes = 0;
  void perform() const {
    std::vector<char> much(static_cast<std::size_t>(megabytes) << 20, 'x');
    append(directory + "/out/grown", std::to_string(much.size()));
  }
};

struct Forks {
  std::string directory;
  int most = 0;
  void perform() const {
    std::vector<pid_t> children;
    while (static_cast<int>(children.size()) < most) {
      const pid_t child = fork();
      if (child == 0) {
        pause();
        _exit(0);
      }
      if (child < 0) break;
      children.push_back(child);
    }
    append(directory + "/out/forked", std::to_string(children.size()));
    for (const pid_t child : children) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
  }
};

// Like Grows, in a file in memory, which no limit of a process counts.
struct Hoards {
  std::string directory;
  int megabytes = 0;
  void perform() const {
    const int file = memfd_create("hoard", MFD_CLOEXEC);
    const std::string megabyte(1 << 20, 'x');
    for (int i = 0; i < megabytes; ++i) {
      if (write(file, megabyte.data(), megabyte.size()) < 0) throw std::runtime_error("cannot hoard");
    }
    append(directory + "/out/hoarded", std::to_string(megabytes));
  }
};

// Like Hoards, but has more private memory than its worker: the kernel ends it first.
struct Swells {
  std::string directory;
  int megabytes = 0, own_megabytes = 0;
  void perform() const {
    const std::string own(static_cast<std::size_t>(own_megabytes) << 20, 'x');
    Hoards{directory, megabytes}.perform();
    append(directory + "/out/own", own.substr(0, 1));
  }
};

namespace {

int channel_to_worker() {
  for (int fd = 3; fd < 4096; ++fd) {
    struct stat status {};
    if (fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode)) return fd;
  }
  throw std::runtime_error("no channel");
}

// Messages of a job's process to its worker: see worker/isolation/job_messages.hpp.
struct Bytes {
  std::string text;
  Bytes& number(std::int64_t n) {
    text.append(reinterpret_cast<const char*>(&n), sizeof n);
    return *this;
  }
  Bytes& real(double n) {
    text.append(reinterpret_cast<const char*>(&n), sizeof n);
    return *this;
  }
  Bytes& words(const std::string& words) {
    number(static_cast<std::int64_t>(words.size()));
    text += words;
    return *this;
  }
};
std::string message(std::int64_t kind, const std::string& body) { return Bytes().number(kind).words(body).text; }
constexpr std::int64_t load_iteration = 2, save_iteration = 3, end_of_job = 9, failed = 1, retry = 1;

void say(int channel, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(channel, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) throw std::runtime_error("nobody hears");
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

// Sends one or more bytes, with this many descriptors.
bool pass(int socket, std::string_view bytes, const std::vector<int>& descriptors) {
  iovec data{const_cast<char*>(bytes.data()), bytes.size()};
  std::vector<char> control(CMSG_SPACE(descriptors.size() * sizeof(int)));
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  cmsghdr* const rights = CMSG_FIRSTHDR(&header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
  std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size() * sizeof(int));
  return sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

}  // namespace

// Sends its worker messages that brood never sends.
struct Abuses {
  std::string how;
  void perform(const brood::Context& context) const {
    const int channel = channel_to_worker();
    if (how == "half") return say(channel, message(save_iteration, "").substr(0, 7));
    if (how == "asks") {
      for (int i = 0; i < 1'000'000; ++i) say(channel, message(load_iteration, ""));
    }
    if (how == "state") {
      say(channel, Bytes().number(save_iteration).number(std::int64_t{500} << 20).text);
      for (int i = 0; i < 500; ++i) say(channel, std::string(1 << 20, 'x'));
    }
    if (how == "closes") {
      shutdown(channel, SHUT_RDWR);
      pause();
    }
    if (how == "descriptors") {
      const std::vector<int> many(100, 1);
      char answer[4096];
      for (int i = 0; i < 50; ++i) {
        if (!pass(channel, message(load_iteration, ""), many)) throw std::runtime_error("not passed");
        if (recv(channel, answer, sizeof answer, 0) <= 0) throw std::runtime_error("no answer");
      }
    }
    const std::string jid(context.jid()), changed = how == "markup" ? "<script>alert(1)</script>" : "Error";
    const std::string queue = how == "queue" ? "another" : "default",
                      number = how == "args" ? "[7]" : "[\"" + how + "\"]";
    const std::string record = R"({"class":"Abuses","args":)" + number + R"(,"jid":")" + jid + R"(","queue":")" +
                               queue +
                               R"(","retry":true,"retry_count":0,"failed_at":1795000000.5,"error_message":"x",)" +
                               R"("error_class":")" + changed + "\"}";
    if (how != "descriptors")
      say(channel, message(end_of_job, Bytes()
                                           .number(failed)
                                           .number(0)
                                           .number(0)
                                           .words("Error")
                                           .words("x")
                                           .number(retry)
                                           .real(1795000000.5)
                                           .words(record)
                                           .number(0)
                                           .words("")
                                           .text));
    if (how != "descriptors") pause();
  }
};

// Keeps as many descriptors in transit in sockets as a process of its user may, until it is released.
struct FillsSockets {
  std::string directory;
  void perform() const {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw std::runtime_error("no sockets");
    const std::vector<int> many(250, 1);
    int passed = 0;
    while (passed < 20 && pass(ends[0], "x", many)) ++passed;
    append(directory + "/out/filled", std::to_string(passed));
    while (!std::ifstream(directory + "/in/go_on")) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
};

BROOD_JOBS(Escapes, Reaches, Hoards, Swells, Abuses, FillsSockets, Works, Waits, Extends, Crashed, Failed, Grows, Forks)
