#pragma once

#include "shared/config/config.hpp"
#include "worker/job/job_registry.hpp"

namespace brood {

// The work that a template process has done for its copies, the workers.  A worker that is no copy has only shielded
// its supervisor.
struct Preloaded {
  JobRegistry registry;
  bool done = false;      // the libraries are loaded, and their handlers of preload have run
  bool shielded = false;  // the supervisor is: see shield_parent()
};

// Whether each worker that may be a copy of the template shields its supervisor.  It cannot be undone, so a template
// does it only then.
bool all_copies_are_shielded(const Config& config);

// In a child of the supervisor that is to be a template: does all that for `config`, which must live as long as
// `preloaded`.  False when no template is needed: no capsule wants it, or they want it only where a library has a
// handler of preload, and none has.  Throws LibraryError and StartupError.
bool preload(const Config& config, Preloaded& preloaded);

}  // namespace brood
