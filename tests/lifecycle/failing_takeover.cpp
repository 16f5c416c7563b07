// Preloaded into a program that is to take over: it fails in the midst of that, where a supervisor makes its loop.  Not
// into who comes after it.

#include <sys/signalfd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace {

char how[16];  // no object: this comes before the constructors of those

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

extern "C" int signalfd(int, const sigset_t*, int) {
  if (std::strcmp(how, "aborts") == 0) std::abort();
  if (std::strcmp(how, "overflows") == 0) return overflow(0);
  if (std::strcmp(how, "segfaults") == 0) *static_cast<volatile int*>(nullptr) = 0;
  errno = EMFILE;
  return -1;
}
