#pragma once

#include <sys/types.h>

namespace brood {

// Protects the supervisor from this process and all that it starts, for good: the kernel refuses to signal it, trace
// it, read or write its memory, slow it down, take its descriptors or change its limits, by any call; the table is in
// worker/guard/seccomp_rules.  Everything else is allowed, a job's own children and group above all.  It guards against
// accidents and careless jobs.  What a malicious program of the same user can still do is in SECURITY.md.  Sets
// no_new_privs, so that set-user-ID programs give a job no rights.  Throws std::system_error where the kernel refuses.
void shield_supervisor(pid_t supervisor, pid_t supervisor_group);

// Whether the kernel takes such filters; some containers refuse them.
bool can_shield_supervisor();

// Call it in a child before anybody may trace it: shields its parent where the kernel can, and logs when that fails. It
// stays across an exec.
void shield_parent();

}  // namespace brood
