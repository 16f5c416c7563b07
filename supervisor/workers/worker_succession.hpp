#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "supervisor/workers/generation/generations.hpp"
#include "supervisor/workers/places/roll_plan.hpp"
#include "supervisor/workers/worker_orders.hpp"
#include "supervisor/workers/worker_slots.hpp"

namespace brood {

// Makes one generation of workers follow another, or changes their number; see RollingRestart.  From bring() or
// resize() until adopt_fresh() or drop_fresh(), fresh places exist beside the old ones.
class WorkerSuccession {
 public:
  WorkerSuccession(WorkerSlots& slots, Generations& generations, WorkerOrders& orders)
      : slots_(slots), generations_(generations), orders_(orders) {}

  const std::shared_ptr<const Generation>& present() const { return generations_.present(); }
  std::uint32_t largest_number() const { return generations_.largest_number(); }

  // Adds the places of a new generation, which stay vacant for now.  Throws std::system_error if there is no room for
  // their records, and then nothing has changed.
  void bring(std::shared_ptr<const Generation> generation);
  // Adds places to one capsule of the present generation, or gives some of them up.  `generation` has its number, and
  // the changed size in its configuration.  Throws as bring() does.
  void resize(std::shared_ptr<const Generation> generation, int capsule);

  std::vector<RollPlace> roll_places() const;
  // How the runs of each class have ended in workers of a generation; see read_generation().
  std::vector<RunTally> tallies(std::uint32_t generation) const { return read_generation(slots_.board, generation); }
  std::string class_of_entry(int index) const { return brood::class_of_entry(slots_.board, index); }
  // The classes of the jobs that workers of fresh places run now, by their entries in the table of usage.
  std::set<int> fresh_classes() const;
  void start(int place) { slots_.table.places().at(place).state = ProcessTable::Place::State::kept; }
  // Orders its worker, if there is one, to finish the job in hand and exit.
  void give_up(int place);

  void adopt_fresh();
  // Orders the workers of fresh places to finish, or kills them if they are not ready yet.  Keeps old places that were
  // given up: a worker that is still there stays, and one that has gone is replaced.
  void drop_fresh();
  // Gives the present generation back the settings that it had before resize().  Call it after drop_fresh().
  void put_back(std::shared_ptr<const Generation> generation) { generations_.replace_present(std::move(generation)); }

  // The number of workers that have been ordered to finish and still run a job.
  int finishing() const { return orders_.finishing(); }

 private:
  void forget_generations();

  WorkerSlots& slots_;
  Generations& generations_;
  WorkerOrders& orders_;
};

}  // namespace brood
