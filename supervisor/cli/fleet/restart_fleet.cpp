#include "supervisor/cli/fleet/restart_fleet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "shared/api/push/push_writer.hpp"
#include "shared/base/log_line.hpp"
#include "shared/base/redis_clock.hpp"
#include "shared/json/json_writer.hpp"
#include "shared/store/redis_time.hpp"
#include "supervisor/cli/access/shard_connections.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/fleet/fleet_members.hpp"
#include "supervisor/cli/fleet/fleet_order.hpp"
#include "supervisor/cli/fleet/fleet_roll.hpp"
#include "supervisor/cli/fleet/held_lease.hpp"
#include "supervisor/cli/terminal/count_text.hpp"
#include "supervisor/cli/terminal/interruption.hpp"
#include "supervisor/cli/terminal/iso_time.hpp"
#include "supervisor/cli/terminal/terminal.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;
using Place = Placing::Place;

constexpr auto between_looks = 500ms;
// An order is void after a minute.  A heartbeat that shows that it was taken comes within ten seconds.
constexpr auto time_to_begin = 75s;

struct LeftOut {
  FleetMember member;
  Placing placing;
};

std::string json_of_left_out(const LeftOut& one) {
  return JsonWriter().text("identity", one.member.identity).text("reason", one.placing.why).object();
}

std::string loaded_text(const FleetMember& member) {
  if (!member.state || member.state->loaded_at <= 0) return "";
  return iso_time(
      WallTime(std::chrono::duration_cast<WallTime::duration>(std::chrono::duration<double>(member.state->loaded_at))));
}

// One run of the command.
class Run {
 public:
  explicit Run(const FleetRestart& wish)
      : wish_(wish), shards_(wish.redis, {.connect = 3s, .command = 5s}, "brood-restart") {
    shards_.any([](ShardConnections::Shard& shard) {
      ask_redis_time(shard.redis);
      return redis_time_is_known();
    });
    began_at_ = std::chrono::floor<std::chrono::seconds>(redis_now());
    std::vector<FleetMember> all = fleet_members(shards_);
    if (!wish.process.empty())
      std::erase_if(all, [&](const FleetMember& member) { return !member.identity.starts_with(wish.process); });
    for (FleetMember& member : all) {
      Placing placing = placing_of(member, wish.loaded_before);
      if (placing.place == Place::in_turn)
        members_.push_back(std::move(member));
      else
        left_out_.push_back({std::move(member), std::move(placing)});
    }
    roll_ = FleetRoll(members_.size(), {.to_begin = time_to_begin, .to_end = wish.timeout});
  }

  int go() {
    if (!wish_.json) print(plan());
    if (members_.empty()) return end_without_any();
    if (wish_.dry_run) {
      if (wish_.json) print_json(answer("planned", "", ""));
      return exit_status::ok;
    }
    HeldLease lease(shards_, {.id = new_jid(), .by = giver_of_orders(), .since = began_at_});
    if (const std::string other = lease.hold(); !other.empty()) return end_for_another(other);
    note_interruption();
    roll_all(lease);
    return end();
  }

 private:
  std::string plan() const {
    Table table({{"HOST"},
                 {"PID", Table::Align::right},
                 {"WORKERS", Table::Align::right},
                 {"VERSION"},
                 {"GENERATION", Table::Align::right},
                 {"LOADED"},
                 {""}});
    const auto add = [&](const FleetMember& member, const std::string& note) {
      table.add({member.hostname, std::to_string(member.pid), std::to_string(member.workers), member.version,
                 member.state ? std::to_string(member.state->generation) : "", loaded_text(member), note});
    };
    for (const FleetMember& member : members_) add(member, "");
    for (const LeftOut& one : left_out_) add(one.member, "not restarted: " + one.placing.why);
    return table.empty() ? "" : table.text(Style::of_standard_output());
  }

  void roll_all(HeldLease& lease) try {
    while (const auto next = roll_.next()) {
      turn_ = *next;
      stopped_by_ = interrupted() ? "interrupted" : lease.hold();
      if (!stopped_by_.empty()) return;
      const FleetMember& member = members_[*next];
      const auto seen = look_at_member(shards_, member.identity);
      if (seen && !seen->beats) {
        tell(fmt::format("{}: has ended meanwhile", title_of(member)));
        roll_.pass_over();
        continue;
      }
      const auto id = give_order(shards_, member.identity, "restart", {});
      if (!id) {
        stopped_by_ = fmt::format("Redis does not take the order for {}; it may be full", title_of(member));
        return;
      }
      roll_.begin(*id, steady_now());
      tell(fmt::format("{}: ordered to restart, {} of {}", title_of(member), *next + 1, members_.size()));
      if (!follow(lease)) return;
    }
  } catch (const ConnectionLost& lost) {  // the order may have been left before the connection ended
    stopped_by_ = fmt::format("Redis does not answer, and {} may have received its order: {}",
                              title_of(members_[turn_]), lost.what());
  }

  // Returns false if this command must end before the member's turn has ended.
  bool follow(HeldLease& lease) {
    const std::size_t turn = *roll_.under_way();
    const std::string title = title_of(members_[turn]);
    const SteadyTime given = steady_now();
    std::string told;
    SteadyTime held = given;
    while (roll_.under_way()) {
      if (interrupted()) {
        stopped_by_ = fmt::format("interrupted; the restart of {} goes on there", title);
        return false;
      }
      std::this_thread::sleep_for(between_looks);
      const auto end = roll_.look(look_at_member(shards_, members_[turn].identity), steady_now());
      if (end == FleetRoll::End::done)
        say(fmt::format("{}: restarted, after {:.1f}s", title,
                        std::chrono::duration<double>(steady_now() - given).count()));
      if (!end && roll_.text() != told) {
        told = roll_.text();
        if (!told.empty()) tell(fmt::format("{}: {}", title, told));
      }
      if (!end && steady_now() - held > 5s) {
        held = steady_now();
        stopped_by_ = lease.hold();  // if another command holds it now, this one ends after the turn
      }
    }
    return !roll_.failure() && stopped_by_.empty();
  }

  int end_without_any() {
    const bool any_is_old = std::any_of(left_out_.begin(), left_out_.end(),
                                        [](const LeftOut& one) { return one.placing.place == Place::left_out; });
    const bool all_are_new = !any_is_old && std::any_of(left_out_.begin(), left_out_.end(), [](const LeftOut& one) {
      return one.placing.place == Place::new_already;
    });
    const std::string why = all_are_new  ? "all workers are new already"
                            : any_is_old ? "no supervisor can be restarted by this command now"
                                         : "no supervisor of brood has a heartbeat";
    if (wish_.json) print_json(answer(all_are_new ? "done" : "not_now", "", all_are_new ? "" : why));
    if (!all_are_new)
      complain(why);
    else if (!wish_.json)
      print(why + "\n");
    return all_are_new ? exit_status::ok : any_is_old ? exit_status::try_again : exit_status::unavailable;
  }

  int end_for_another(const std::string& other) const {
    const std::string why = other + ".  Wait until that has ended; if its command has died, half a minute";
    if (wish_.json) print_json(answer("not_now", "", why));
    complain(why);
    return exit_status::try_again;
  }

  int end() {
    const auto failure = roll_.failure();
    const std::vector<std::size_t> old = roll_.old();
    std::string outcome = "done", reason;
    if (failure) {
      outcome = name_of(*failure);
      reason = sentence_of(*failure, roll_.text());
    } else if (!stopped_by_.empty() && !old.empty()) {
      outcome = "not_now";
      reason = stopped_by_;
    }
    if (wish_.json) print_json(answer(outcome, failure ? members_[old.front()].identity : "", reason));
    const std::string renewed = fmt::format("{} of {} restarted", roll_.restarted().size(),
                                            counted(members_.size(), "supervisor", "supervisors"));
    if (old.empty()) {
      say(renewed);
      return status_of_left_out();
    }
    complain(failure ? fmt::format("stopped at {}: {}", title_of(members_[old.front()]), reason) : reason);
    fmt::print(stderr, "{}{}\n{}: {}\n", renewed, titles(roll_.restarted(), ": "), "Not restarted", titles(old, ""));
    fmt::print(stderr,
               "When the cause is removed: \"brood restart --all\" restarts all of them, and with "
               "--loaded-before {} those alone that are left\n",
               iso_time(began_at_));
    if (!failure) return exit_status::try_again;
    if (*failure == FleetRoll::End::rolled_back) return exit_status::internal;
    return *failure == FleetRoll::End::refused ? exit_status::configuration : exit_status::try_again;
  }

  int status_of_left_out() const {
    for (const LeftOut& one : left_out_) {
      if (one.placing.place != Place::left_out) continue;
      complain(fmt::format("{} was not restarted: {}", title_of(one.member), one.placing.why));
    }
    return std::any_of(left_out_.begin(), left_out_.end(),
                       [](const LeftOut& one) { return one.placing.place == Place::left_out; })
               ? exit_status::try_again
               : exit_status::ok;
  }

  std::string titles(const std::vector<std::size_t>& places, const char* before) const {
    std::vector<std::string> all;
    for (const std::size_t place : places) all.push_back(title_of(members_[place]));
    return all.empty() ? "" : before + fmt::format("{}", fmt::join(all, ", "));
  }

  std::vector<std::string> identities(const std::vector<std::size_t>& places) const {
    std::vector<std::string> all;
    for (const std::size_t place : places) all.push_back(members_[place].identity);
    return all;
  }

  std::string answer(const std::string& outcome, const std::string& stopped_at, const std::string& reason) const {
    return JsonWriter()
               .text("outcome", outcome)
               .text_or_null("reason", reason)
               .text_or_null("stopped_at", stopped_at)
               .texts("restarted", identities(roll_.restarted()))
               .texts("not_restarted", identities(roll_.old()))
               .each("left_out", left_out_, json_of_left_out)
               .text("began_at", iso_time(began_at_))
               .object() +
           "\n";
  }

  void tell(const std::string& line) const {
    if (!wish_.json) fmt::print(stderr, "{}\n", log::printable(line));
  }
  void say(const std::string& line) const {
    if (!wish_.json) print(log::printable(line) + "\n");
  }
  static void complain(const std::string& sentence) {
    fmt::print(stderr, "brood restart: {}\n", log::printable(sentence));
  }

  const FleetRestart& wish_;
  ShardConnections shards_;
  WallTime began_at_{};
  std::vector<FleetMember> members_;
  std::vector<LeftOut> left_out_;
  FleetRoll roll_{0, {}};
  std::size_t turn_ = 0;    // the member whose turn it is, or was last
  std::string stopped_by_;  // why this command ends early; empty: it does not
};

}  // namespace

int restart_fleet(const FleetRestart& restart) { return Run(restart).go(); }

}  // namespace brood
