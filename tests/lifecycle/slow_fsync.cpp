// Preloaded into a redis-server: while the file named by SLOW_FSYNC exists, its disk takes nearly a second to confirm a
// write.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>

extern "C" int fdatasync(int fd) {
  const char* const switch_file = std::getenv("SLOW_FSYNC");
  if (switch_file != nullptr && access(switch_file, F_OK) == 0) usleep(900'000);
  static const auto real = reinterpret_cast<int (*)(int)>(dlsym(RTLD_NEXT, "fdatasync"));
  return real(fd);
}
