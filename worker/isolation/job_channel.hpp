#pragma once

#include <string>
#include <vector>

#include "shared/base/unique_fd.hpp"
#include "worker/isolation/job_messages.hpp"
#include "worker/isolation/job_services.hpp"

namespace brood {

// The connection of a job's process to its worker: it asks, and waits for the answer.  If the worker is gone, or sends
// an invalid message, this process ends.
class JobChannel : public JobServices {
 public:
  explicit JobChannel(UniqueFd socket) : socket_(std::move(socket)), reader_(MessageReader::of_worker()) {}

  int descriptor() const { return socket_.get(); }
  JobOrder take_order();
  std::optional<IterationState> load_iteration() override;
  bool save_iteration(const IterationState& state) override;
  FailureRule failure_rule() override;
  LimitResult take_limits(const WantedLimits& wanted, const std::function<bool()>& is_wanted) override;
  void give_back_limits(const std::vector<LimitUse>& uses) override;
  bool batch_cancelled(std::string_view bid) override;
  std::optional<std::string> step_result(std::string_view bid, std::string_view step) override;
  void note_progress(const JobProgress& progress) override;
  void end(const JobEnd& end);

 private:
  std::string ask(MessageKind kind, std::string_view body);
  void say(MessageKind kind, std::string_view body);
  std::string hear(MessageKind kind);

  UniqueFd socket_;
  MessageReader reader_;
};

}  // namespace brood
