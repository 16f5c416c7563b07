#include "shared/base/seed_anew.hpp"

#include <sys/random.h>

#include <cstdlib>

namespace brood {

void seed_anew() {
  unsigned seeds[2] = {};
  if (getrandom(seeds, sizeof seeds, 0) != static_cast<ssize_t>(sizeof seeds)) return;
  srandom(seeds[0]);
  srand48(static_cast<long>(seeds[1]));
}

}  // namespace brood
