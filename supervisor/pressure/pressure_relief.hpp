#pragma once

#include <optional>
#include <string>

#include "shared/config/config.hpp"
#include "supervisor/pressure/fetch_allowance.hpp"
#include "supervisor/pressure/memory_figures.hpp"
#include "supervisor/workers/worker_orders.hpp"

namespace brood {

// Lets fewer workers fetch while memory is scarce, before the kernel has to kill one, and more when it is not.  Workers
// that are held back finish the job in hand, as in a quiet.
//
// Reads the figures once a second; the kernel averages them over ten.  A kernel trigger would need rights that
// containers often lack; plain files can be read anywhere.
class PressureRelief {
 public:
  PressureRelief(WorkerOrders& orders, const PressureSettings& settings);

  void set(const PressureSettings& settings);

  // Once a second.
  void look(SteadyTime now);
  // Holds no worker back any more, before another program takes over.
  void let_go() { orders_.hold_back_all_but(std::nullopt); }

  std::string status() const;  // half a sentence for people; empty if no worker is held back
  std::string json() const;    // {"memory":..., "limit":..., "held_back":...}

 private:
  void tell(const std::optional<int>& before, int workers) const;

  WorkerOrders& orders_;
  PressureSettings settings_;
  MemoryFigures figures_;
  FetchAllowance allowance_;
  PressureReading last_;
  std::optional<int> allowed_;
  int held_back_ = 0;
};

}  // namespace brood
