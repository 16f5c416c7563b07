// Preloaded into a redis-server: its clock is a day ahead.
#include <dlfcn.h>
#include <sys/time.h>

extern "C" int gettimeofday(timeval* time, void* zone) noexcept {
  static const auto real = reinterpret_cast<int (*)(timeval*, void*)>(dlsym(RTLD_NEXT, "gettimeofday"));
  const int result = real(time, zone);
  if (time != nullptr) time->tv_sec += 24 * 60 * 60;
  return result;
}
