#pragma once

#include <sys/types.h>

namespace brood {

// Protects the supervisor from this process and its later children, for good.  The kernel refuses every call by which
// they could signal it, trace it, read or write its memory, slow it down, take its descriptors or change its limits;
// the table is in worker/guard/seccomp_rules.  Every other call is allowed, above all calls about a job's own children
// and group.  The filter guards against accidents and careless jobs.  SECURITY.md lists the remaining means of a
// malicious program of the same user.  The function sets no_new_privs, so that set-user-ID programs give a job no
// rights.  `supervisor_group` is its process group; 0: that is of another PID namespace.  It throws std::system_error
// if the kernel refuses the filter.
void shield_supervisor(pid_t supervisor, pid_t supervisor_group);

// Whether the kernel accepts such filters; some containers refuse them.
bool can_shield_supervisor();

// Shields the parent of this process where the kernel can, and logs a failure.  Call it in a child before another
// process may trace the child.  The shield stays across an exec.
void shield_parent();

}  // namespace brood
