#include <brood/job.hpp>

void nobody_defines_this();

// The library's author forgot to link another one.
struct Unresolved {
  void perform() { nobody_defines_this(); }
};

BROOD_JOBS(Unresolved)
