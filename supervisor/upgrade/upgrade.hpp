#pragma once

#include <functional>
#include <optional>
#include <string>

#include "shared/base/unique_fd.hpp"
#include "shared/config/config.hpp"
#include "supervisor/control/control_socket.hpp"
#include "supervisor/control/progress_throttle.hpp"
#include "supervisor/process/child_check.hpp"
#include "supervisor/process/children.hpp"
#include "supervisor/upgrade/handover_record.hpp"
#include "supervisor/upgrade/successor.hpp"

namespace brood {

// Lets the program that now lies in our own file take over this process.  First that program looks, in a child, at a
// copy of what it would get.  If it finds nothing wrong, this program gives way as soon as nothing is half done.  The
// configuration is read once, for both programs.  On success nothing here returns.
class Upgrade {
 public:
  using ReadFile = std::function<ConfigFile()>;  // of the configuration; throws ConfigError
  // The supervisor, as an upgrade sees it.
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual Handover hand_over() = 0;     // what there is now
    virtual std::string half_done() = 0;  // what must end first, for people; empty: nothing
    virtual void upgrade_begun() = 0;
    virtual void upgrade_given_up() = 0;  // everything is as it was
  };
  // `failed`: why a program that took over from this one has given the process back; empty: none has.
  Upgrade(Children& children, const Successor& successor, ReadFile read_file, Owner& owner, std::string failed);

  // When the upgrade fails, the client is answered with a JSON object.  When it succeeds, the client's connection ends,
  // and the client asks the successor.
  void begin(std::optional<ControlSocket::Reply> asked_by);
  // Answers with the refusal of the last upgrade; false when it was not refused.
  bool answer_failure(const ControlSocket::Reply& reply) const;
  // Each turn.
  void advance(SteadyTime now);
  // Ends what is under way.
  void abandon(const std::string& why);

  bool under_way() const { return step_ != Step::none; }
  std::string status() const;  // half a sentence for people; empty: there is nothing to say

 private:
  enum class Step { none, checking, waiting };
  enum class Outcome { refused, not_now };

  Handover hand_over() const;
  void checked(const std::string& refusal);
  void tell_progress(SteadyTime now);
  void fail(Outcome outcome, const std::string& why);

  const Successor& successor_;
  const ReadFile read_file_;
  Owner& owner_;
  ChildCheck check_;
  Step step_ = Step::none;
  UniqueFd copy_;    // of the handover, for the rehearsal
  ConfigFile file_;  // the configuration that the rehearsal used
  SteadyTime give_up_at_{};
  std::string waits_for_, last_failure_;
  ProgressThrottle told_;
  std::optional<ControlSocket::Reply> client_;
};

}  // namespace brood
