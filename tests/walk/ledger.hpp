#pragma once

#include <fcntl.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace brood::walk {

// Appends a line of 128 bytes to the ledger by one write(2), so that it is whole even if its writer is killed: the
// event, the id of a job or a batch, the process, the time by CLOCK_MONOTONIC, and more.
//
// Lines about a job, written by jobs:
//   S jid pid time retry_count queue bid index   a run begins; for a job of a batch, its place there
//   B jid pid time                     it begins, and waits for its limit before its S
//   D | F | P jid pid time             it is done | it has failed | it was put off
//   I jid pid time item                an item of an iterable job is done
//   X jid pid time                     the job came too late to begin
//   Z jid pid time                     the job will not be tried again
//   C jid pid time                     an iterable job ends, since it was cancelled
//   E jid pid time                     its encrypted argument is not what was pushed
// Lines about a batch, written by the walk and by jobs before the request:
//   M bid pid time parent maker        it is made: by the job with this jid, or by the walk: "shard<number>"
//   K jid pid time bid event           it gets a callback
//   N jid pid time bid class queue     a job is pushed into it
//   V bid pid time                     the function that fills it returns
//   R bid pid time how                 its push has returned: ok, thrown (by the function), closed or failed
inline void append_to_ledger(const char* path, const std::string& what, std::string_view id, const std::string& more) {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  std::string line = what + " " + std::string(id) + " " + std::to_string(getpid()) + " " +
                     std::to_string(std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec) + " " + more;
  line.resize(127, ' ');
  line += '\n';
  const int file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0 || write(file, line.data(), line.size()) < 0) throw std::runtime_error("cannot write the ledger");
  close(file);
}

}  // namespace brood::walk
