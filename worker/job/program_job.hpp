#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "shared/config/config.hpp"
#include "shared/job/payload.hpp"
#include "worker/job/perform.hpp"

namespace brood {

// One attempt of a job whose class is a program.
struct ProgramRun {
  Performed performed;
  std::uint64_t peak_kb = 0;  // of the program's memory
  bool was_killed = false;    // by SIGKILL, and not by us
};

// Executes the program and waits for its end; whatever happens is a Performed.  Its standard error goes on to ours, and
// its last lines are a failure's backtrace.  At the deadline of `host` it gets SIGTERM, and `grace` later SIGKILL.
// `fetched` is the job before middleware changed it: once that was decrypted, no argument of another is shown in words.
ProgramRun perform_program(const CommandSettings& command, const Payload& job, const Payload& fetched,
                           std::string_view queue, const JobHost& host, std::chrono::milliseconds grace);

}  // namespace brood
