#include "worker/run/in_process.hpp"

namespace brood {

void InProcess::perform(JobRun& run) {
  book_.note_recent();
  code_.open(run);
  code_.perform(run);
  if (run.made_calls) place_.end_if_a_copy(run.job);
  run.runs_hooks = run.failed() && (run.class_flags & (class_has_hooks | class_has_handlers)) != 0;
  // Look while the entry still runs: if threads of the job crash now, that is charged to the job.
  if (run.made_calls) left_behind_.look(run.job);
}

void InProcess::put_right(const JobRun& run) {
  if (run.runs_hooks) left_behind_.look(run.job);
  left_behind_.put_right(run.made_calls || run.runs_hooks);
}

}  // namespace brood
