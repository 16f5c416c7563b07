#pragma once

#include <sys/types.h>

namespace brood {

// Protects the supervisor from this process and its later children, for good.  The kernel refuses every call by which
// they could signal it, trace it, read or write its memory, slow it down, take its descriptors or change its limits;
// the table is in worker/guard/seccomp_rules.  Everything else is allowed, above all calls about a job's own children
// and group.  It guards against accidents and careless jobs.  SECURITY.md lists the remaining means of a malicious
// program of the same user.  Sets no_new_privs, so that set-user-ID programs give a job no rights.  Throws
// std::system_error if the kernel refuses.
void shield_supervisor(pid_t supervisor, pid_t supervisor_group);

// Whether the kernel takes such filters; some containers refuse them.
bool can_shield_supervisor();

// Call it in a child before anybody may trace it: shields its parent where the kernel can, and logs when that fails. It
// stays across an exec.
void shield_parent();

}  // namespace brood
