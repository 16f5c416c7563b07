#pragma once

#include "shared/config/config.hpp"
#include "worker/job/job_registry.hpp"

namespace brood {

// The work that a template process has done for its copies, the workers.  In a worker that is no copy, only `shielded`
// may be set.
struct Preloaded {
  JobRegistry registry;
  bool done = false;      // the libraries are loaded, and their handlers of preload have run
  bool shielded = false;  // the supervisor is shielded: see shield_parent()
};

// Whether each worker that may be a copy of the template shields its supervisor.  Only then may the template do it,
// since it cannot be undone.
bool all_copies_are_shielded(const Config& config);

// In a child of the supervisor that is to be a template: does this work for `config`, which must live as long as
// `preloaded`.  Returns false if no template is needed: no capsule wants one, or they want one only if a library has a
// handler of preload, and none has.  Throws LibraryError and StartupError.
bool preload(const Config& config, Preloaded& preloaded);

}  // namespace brood
