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
  bool was_killed = false;    // by a SIGKILL that this process did not send
};

// Executes the program, waits for its end, and turns every outcome into a Performed.  Its standard error is copied to
// ours, and the last lines of it are a failure's backtrace.  At the deadline of `host` it gets SIGTERM, and `grace`
// later SIGKILL.  `fetched` is the job before middleware changed it: if its arguments were decrypted, the command line
// shows no arguments of the changed job.
ProgramRun perform_program(const CommandSettings& command, const Payload& job, const Payload& fetched,
                           std::string_view queue, const JobHost& host, std::chrono::milliseconds grace);

}  // namespace brood
