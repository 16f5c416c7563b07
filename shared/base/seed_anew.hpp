#pragma once

namespace brood {

// In a copy of a process: otherwise rand(), random() and drand48() would give the same numbers to all copies.
void seed_anew();

}  // namespace brood
