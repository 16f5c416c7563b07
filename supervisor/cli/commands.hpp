#pragma once

#include <string>
#include <vector>

namespace brood {

// The commands beside `run`.  Each gets the words after its name and returns the exit status.
int enqueue_command(const std::vector<std::string>& args);
int status_command(const std::vector<std::string>& args);
int dump_command(const std::vector<std::string>& args);
int quiet_command(const std::vector<std::string>& args);
int resume_command(const std::vector<std::string>& args);
int reopen_command(const std::vector<std::string>& args);
int stop_command(const std::vector<std::string>& args);
int upgrade_command(const std::vector<std::string>& args);
int restart_command(const std::vector<std::string>& args);
int scale_command(const std::vector<std::string>& args);
int kill_command(const std::vector<std::string>& args);
int show_command(const std::vector<std::string>& args);
int cancel_command(const std::vector<std::string>& args);
int queues_command(const std::vector<std::string>& args);
int retries_command(const std::vector<std::string>& args);
int scheduled_command(const std::vector<std::string>& args);
int dead_command(const std::vector<std::string>& args);
int sequences_command(const std::vector<std::string>& args);
int limits_command(const std::vector<std::string>& args);
int quarantine_command(const std::vector<std::string>& args);
int batches_command(const std::vector<std::string>& args);
int classes_command(const std::vector<std::string>& args);
int periodic_command(const std::vector<std::string>& args);
int locks_command(const std::vector<std::string>& args);
int errors_command(const std::vector<std::string>& args);
int keys_command(const std::vector<std::string>& args);
int processes_command(const std::vector<std::string>& args);
int mark_command(const std::vector<std::string>& args);
int perform_command(const std::vector<std::string>& args);
int replay_command(const std::vector<std::string>& args);
int schema_command(const std::vector<std::string>& args);
int new_command(const std::vector<std::string>& args);
int recover_command(const std::vector<std::string>& args);
int names_command(const std::vector<std::string>& args);

}  // namespace brood
