#include "shared/base/planted_bug.hpp"

#include <cstddef>
#include <cstdlib>
#include <utility>

#include <unistd.h>

namespace brood {

#ifdef BROOD_PLANTED_BUGS
bool planted(PlantedBug bug) {
  static const char* const name = std::getenv("BROOD_PLANTED_BUG");
  return name != nullptr && planted_bugs.at(static_cast<std::size_t>(bug)) == name;
}

bool planted_at_first(PlantedBug bug) {
  static pid_t process = 0;  // a forked worker has what its parent had
  static int asked = 0;
  if (std::exchange(process, getpid()) != getpid()) asked = 0;
  return planted(bug) && asked++ < 4;
}
#else
bool planted(PlantedBug) { return false; }
bool planted_at_first(PlantedBug) { return false; }
#endif

}  // namespace brood
