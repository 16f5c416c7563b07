/* Preloaded, so that the name server takes as many milliseconds as SLOW_NAMES says until it knows that slow.invalid is
 * this machine. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int getaddrinfo(const char* host, const char* service, const struct addrinfo* hints, struct addrinfo** found) {
  int (*ask)(const char*, const char*, const struct addrinfo*, struct addrinfo**) = NULL;
  *(void**)&ask = dlsym(RTLD_NEXT, "getaddrinfo");
  const char* time = getenv("SLOW_NAMES");
  if (!time || !host || strcmp(host, "slow.invalid") != 0 || (hints && hints->ai_flags & AI_NUMERICHOST))
    return ask(host, service, hints, found);
  struct timespec left = {atol(time) / 1000, atol(time) % 1000 * 1000000};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
  return ask("127.0.0.1", service, hints, found);
}
