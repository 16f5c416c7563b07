#pragma once

#include <sys/types.h>

namespace brood {

// Keeps this process and all that it starts from their supervisor, for good: the kernel refuses to signal it, trace it,
// read or write its memory, slow it down, take its descriptors or change its limits, by whatever call; the table is in
// worker/guard/seccomp_rules.  Everything else is allowed, own children and own group first of all.  Against accidents,
// and jobs that know no better: what is left to one who is the same user and means harm is in SECURITY.md. Sets
// no_new_privs, so that set-user-ID programs give a job no rights.  Throws std::system_error where the kernel refuses.
void shield_supervisor(pid_t supervisor, pid_t supervisor_group);

// Whether the kernel takes such filters; some containers refuse them.
bool can_shield_supervisor();

// In a child that is about to run code of job libraries: shields its parent where that is possible, and says when it
// fails in spite of that.
void shield_parent();

}  // namespace brood
