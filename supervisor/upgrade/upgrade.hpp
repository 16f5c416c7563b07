#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/unique_fd.hpp"
#include "shared/config/config.hpp"
#include "supervisor/control/control_socket.hpp"
#include "supervisor/control/progress_throttle.hpp"
#include "supervisor/process/child_check.hpp"
#include "supervisor/process/children.hpp"
#include "supervisor/upgrade/handover_record.hpp"
#include "supervisor/upgrade/successor.hpp"

namespace brood {

// Lets the program that is now in our own file take over this process.  On success nothing here returns.
//
// First that program checks a copy of its handover, in a child.  If it finds nothing wrong, it takes over as soon as
// nothing is half done.  The configuration is read once, for both programs.
class Upgrade {
 public:
  using ReadFile = std::function<ConfigFile()>;  // of the configuration; throws ConfigError
  // Makes a handover of the present state.
  using HandOver = std::function<Handover()>;
  // `failed`: why the next program gave the process back to this one; empty if none did.
  Upgrade(Children& children, const Successor& successor, ReadFile read_file, HandOver hand_over, std::string failed);

  enum class News { begun, given_up };  // given_up: everything is as before
  // The events since the last take_news(), in order.
  std::vector<News> take_news() { return std::exchange(news_, {}); }

  // If the upgrade fails, the client gets a JSON object.  If it succeeds, the client's connection ends, and the client
  // asks the successor.
  void begin(std::optional<ControlSocket::Reply> asked_by);
  // Answers with the refusal of the last upgrade.  Returns false if it was not refused.
  bool answer_failure(const ControlSocket::Reply& reply) const;
  // Whether the new program agrees: it then takes over as soon as nothing is half done.
  bool waits() const { return step_ == Step::waiting; }
  // Each turn.  `half_done` describes what must end first, for people; empty if nothing.
  void advance(SteadyTime now, const std::string& half_done);
  // Ends the upgrade under way.
  void abandon(const std::string& why);

  bool under_way() const { return step_ != Step::none; }
  std::string status() const;  // half a sentence for people; empty if there is nothing to report

 private:
  enum class Step { none, checking, waiting };
  enum class Outcome { refused, not_now };

  Handover with_program_and_config(Handover handover) const;
  void checked(const std::string& refusal);
  void tell_progress(SteadyTime now);
  void fail(Outcome outcome, const std::string& why);

  const Successor& successor_;
  const ReadFile read_file_;
  const HandOver hand_over_;
  std::vector<News> news_;
  ChildCheck check_;
  Step step_ = Step::none;
  UniqueFd copy_;    // of the handover, for the rehearsal
  ConfigFile file_;  // the configuration of the rehearsal
  SteadyTime give_up_at_{};
  std::string waits_for_, last_failure_;
  ProgressThrottle told_;
  std::optional<ControlSocket::Reply> client_;
};

}  // namespace brood
