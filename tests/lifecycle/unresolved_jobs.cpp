#include <brood/job.hpp>

void nobody_defines_this();

// In a library whose author forgot to link another.
struct Unresolved {
  void perform() { nobody_defines_this(); }
};

BROOD_JOBS(Unresolved)
