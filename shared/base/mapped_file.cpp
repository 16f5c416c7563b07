#include "shared/base/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <mutex>

namespace brood {
namespace {

// How many files this process can have mapped: its own, former mappings of it, and those of other processes.
constexpr std::size_t most_files = 64;

struct MappedFile {
  std::atomic<char*> begin;  // null: vacant
  std::size_t size;
  bool writable;
  dev_t device;
  ino_t inode;
  char path[PATH_MAX];
};
std::array<MappedFile, most_files> mapped_files;
std::mutex changing;  // not for handlers, which only read

const MappedFile* file_at(const char* address) {
  for (const MappedFile& file : mapped_files) {
    const char* const begin = file.begin.load(std::memory_order_acquire);
    if (begin != nullptr && address >= begin && address < begin + file.size) return &file;
  }
  return nullptr;
}

bool extend(const MappedFile& file) {
  if (!file.writable) return false;
  const int fd = ::open(file.path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  struct stat status {};
  // Allocates the pages, too: on a full tmpfs a page without memory would raise SIGBUS again.
  const bool extended = fstat(fd, &status) == 0 && status.st_dev == file.device && status.st_ino == file.inode &&
                        fallocate(fd, 0, 0, static_cast<off_t>(file.size)) == 0;
  ::close(fd);
  return extended;
}

// Puts an empty page in the place of the lost one, for this process and its later children alone.
bool replace_page(const MappedFile& file, char* address) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  void* const at = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(address) / page * page);
  const int rights = file.writable ? PROT_READ | PROT_WRITE : PROT_READ;
  return mmap(at, page, rights, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
}

struct sigaction handler_before {};

// Passes the signal to the handler that was there before.  Ours stays installed, since the other one may return or jump
// away, and the next fault may be in a mapped file.
void hand_on(int signal, siginfo_t* fault, void* context) {
  const bool was_sent = fault->si_code <= 0;  // by kill(); a real fault comes again as soon as we return
  const bool is_handler = handler_before.sa_handler != SIG_DFL && handler_before.sa_handler != SIG_IGN;
  if (was_sent && handler_before.sa_handler == SIG_IGN) return;
  if (!is_handler || (handler_before.sa_flags & SA_RESETHAND) != 0) ::signal(signal, SIG_DFL);
  if (!is_handler) {
    if (was_sent) raise(signal);
  } else if ((handler_before.sa_flags & SA_SIGINFO) != 0) {
    handler_before.sa_sigaction(signal, fault, context);
  } else {
    handler_before.sa_handler(signal);
  }
}

void on_bus_error(int signal, siginfo_t* fault, void* context) {
  if (!bring_back_page(*fault)) hand_on(signal, fault, context);
}

// Installs our handler in front of the present one, such as a sanitizer's.
void handle_bus_errors() {
  struct sigaction action {};
  if (sigaction(SIGBUS, nullptr, &action) != 0 || action.sa_sigaction == on_bus_error) return;
  handler_before = action;
  action = {};
  action.sa_sigaction = on_bus_error;
  action.sa_mask = handler_before.sa_mask;
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART | (handler_before.sa_flags & SA_ONSTACK);
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace

void note_mapped_file(void* memory, std::size_t size, int fd, const std::string& path, bool writable) {
  struct stat status {};
  if (path.size() >= PATH_MAX || fstat(fd, &status) != 0) return;
  const std::lock_guard lock(changing);
  for (MappedFile& file : mapped_files) {
    if (file.begin.load() != nullptr) continue;
    file.size = size;
    file.writable = writable;
    file.device = status.st_dev;
    file.inode = status.st_ino;
    path.copy(file.path, path.size());
    file.path[path.size()] = '\0';
    file.begin.store(static_cast<char*>(memory), std::memory_order_release);
    break;
  }
  handle_bus_errors();
}

void forget_mapped_file(void* memory) {
  const std::lock_guard lock(changing);
  for (MappedFile& file : mapped_files) {
    if (file.begin.load() == memory) file.begin.store(nullptr);
  }
}

bool bring_back_page(const siginfo_t& fault) {
  const int error = errno;
  bool back = false;
  if (fault.si_signo == SIGBUS && fault.si_code == BUS_ADRERR) {
    auto* const address = static_cast<char*>(fault.si_addr);
    const MappedFile* const file = file_at(address);
    back = file != nullptr && (extend(*file) || replace_page(*file, address));
  }
  errno = error;
  return back;
}

}  // namespace brood
