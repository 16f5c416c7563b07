#include "supervisor/fleet.hpp"

#include <utility>

#include "supervisor/workers/worker_handover.hpp"

namespace brood {
namespace {

// The flags of every worker in a phase.
std::uint32_t flags_in(Phase phase) {
  switch (phase) {
    case Phase::running:
      return 0;
    case Phase::quiet:
      return slot_quiet;
    case Phase::stopping:
    case Phase::killing:
      return slot_quiet | slot_stop;
  }
  return 0;
}

}  // namespace

Fleet::Fleet(Setup setup)
    : slots({.runtime_directory = setup.runtime_directory,
             .identity = setup.identity.name,
             .instance = setup.instance,
             .left = setup.left.has_value()},
            *setup.first->config),
      generations(generations_of(setup.left, slots, *setup.first, setup.program_of)),
      moves(setup.identity.name, slots, generations, orders, setup.shards),
      orders(setup.loop, moves, slots, generations),
      succession(slots, generations, orders),
      pressure(orders, setup.first->config->pressure),
      pool(setup.loop, setup.children, slots, generations, orders, moves, setup.identity.name, *setup.first->config,
           setup.left),
      restart(setup.loop, setup.children, succession, std::move(setup.config_source), std::move(setup.program_of)),
      stack_log(setup.children, generations, orders) {}

void Fleet::enter(Phase phase) {
  switch (phase) {
    case Phase::running:
      // The queues were not watched while quiet, so the pauses that workers know are outdated.
      orders.note_queues_changed(false);
      break;
    case Phase::quiet:
      break;
    case Phase::stopping:
      pool.stop_spawning();
      break;
    case Phase::killing:
      return pool.kill_all("it outlasted the shutdown timeout, or a second stop came");
  }
  orders.tell_all(flags_in(phase));
}

void Fleet::replace_workers_of_before() {
  if (!std::exchange(roll_is_owed_, false)) return;
  restart.restart(std::nullopt);
  owed_roll_comes_ = true;
}

void Fleet::note_restart(RollingRestart::News news) {
  if (news == RollingRestart::News::begun) owed_roll_is_on_ = std::exchange(owed_roll_comes_, false);
  if (news == RollingRestart::News::ended) owed_roll_is_on_ = false;
}

void Fleet::abandon_restart(const std::string& why) {
  const bool was_owed = (owed_roll_is_on_ || owed_roll_comes_) && restart.under_way();
  const auto before = restart.present();
  restart.abandon(why);
  owed_roll_comes_ = false;
  roll_is_owed_ |= was_owed && restart.present() == before;
}

}  // namespace brood
