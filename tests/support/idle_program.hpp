#pragma once

#include "supervisor/process/child_program.hpp"

namespace brood {

// Children that do nothing and succeed; a test overrides what it needs.
class IdleProgram : public ChildProgram {
 public:
  int work(const WorkerSetup&) override { return 0; }
  int recover(const RedisAddress&, const std::vector<WorkerDeath>&, RecoveryMode, ByteCount&) override { return 0; }
  int recover_orphans(const RedisAddress&, const OrphanedJobs&, RecoveryMode, ByteCount&) override { return 0; }
  int sweep(const RedisAddress&, const OwnIncarnations&) override { return 0; }
  int report_errors(const std::string&, ErrorCounts&, int) override { return 0; }
  int log_stacks(const std::vector<DumpRequest>&) override { return 0; }
  int tell_stack(const DumpRequest&, int) override { return 0; }
  std::string why_not_usable() override { return ""; }
  std::string why_not_removable(const std::vector<int>&) override { return ""; }
};

}  // namespace brood
