#pragma once

#include <csignal>

#include <ucontext.h>

#include "shared/scoreboard/stack_record.hpp"
#include "worker/crash/module_map.hpp"

namespace brood {

// These functions write the stack of a thread into a record.  All of them but prime_unwinder() are async-signal-safe:
// they allocate nothing, take no lock, and use no memory of a job besides the stack that they walk.

// Writes the facts that need no walk: the signal, the registers, the thread.  `info` is null for a dump.  Does not
// change the thrown type and its what().  The record's state is `header` afterwards.
void write_header(StackRecord& record, const siginfo_t* info, const ucontext_t& interrupted);
// Does the same for a thread that calls exit(status).
void write_exit_header(StackRecord& record, int status);

// Writes the frames of the interrupted code and the modules that they lie in.  A broken stack ends the walk early: when
// reading the stack faults, the handler of that fault calls end_faulty_step(), and the frames found so far stay.
// `interrupted` is as before on return.  The record's state is `complete` afterwards.
void write_frames(StackRecord& record, const ModuleMap& modules, ucontext_t& interrupted);
// Writes the frames of the calling thread from the innermost call of `function` outwards.
void write_frames_from(StackRecord& record, const ModuleMap& modules, const void* function);

// Call it in the handler of a fault.  It does not return if write_frames() in this thread caused the fault.
void end_faulty_step();

// Makes the unwinder load and resolve now all that it needs.
void prime_unwinder();

}  // namespace brood
