// Preloaded into a program that takes over.  It fails, or is delayed, in the middle of the takeover, where a supervisor
// makes its loop.  It is not preloaded into the next program.

#include <dlfcn.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace {

char how[16];  // not an object: this runs before constructors

__attribute__((constructor)) void begin() {
  if (const char* told = std::getenv("TAKEOVER")) std::strncpy(how, told, sizeof how - 1);
  unsetenv("TAKEOVER");
  unsetenv("LD_PRELOAD");
}

// NOLINTNEXTLINE(misc-no-recursion)
int overflow(int depth) {
  volatile char room[4096] = {};
  room[0] = static_cast<char>(depth);
  return overflow(depth + 1) + room[0];
}

}  // namespace

// Reports the moment at which the process may be signalled, before the supervisor can receive signals.
extern "C" int uv_loop_init(void* loop) {
  if (std::strcmp(how, "waits") == 0) {
    constexpr char said[] = "the takeover waits\n";
    if (write(STDERR_FILENO, said, sizeof said - 1) < 0) std::abort();
    sleep(1);
  }
  const auto real = reinterpret_cast<int (*)(void*)>(dlsym(RTLD_NEXT, "uv_loop_init"));
  return real(loop);
}

extern "C" int signalfd(int number, const sigset_t* mask, int flags) {
  if (std::strcmp(how, "waits") == 0)
    return reinterpret_cast<int (*)(int, const sigset_t*, int)>(dlsym(RTLD_NEXT, "signalfd"))(number, mask, flags);
  if (std::strcmp(how, "aborts") == 0) std::abort();
  if (std::strcmp(how, "overflows") == 0) return overflow(0);
  if (std::strcmp(how, "segfaults") == 0) *static_cast<volatile int*>(nullptr) = 0;
  errno = EMFILE;
  return -1;
}
