#include "tests/walk/drawn_config.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace brood::walk {
namespace {

std::string quoted(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "\"" : ", \"") + name + "\"";
  return "[" + list + "]";
}

std::string caps(int queue_cap, int class_cap) {
  std::string text;
  if (queue_cap != no_cap)
    text += fmt::format("[limits.walk_queue]\nqueues = [\"capped\"]\nconcurrent = {}\n", queue_cap);
  if (class_cap != no_cap)
    text += fmt::format("[limits.walk_class]\nclasses = [\"WalkHeavy\"]\nconcurrent = {}\n", class_cap);
  return text;
}

const char* const always =
    "poll_interval = \"100ms\"\nshutdown_timeout = \"3s\"\nboot_timeout = \"30s\"\nmax_retries = 25\n";

}  // namespace

DrawnConfig draw_config(WalkDice& dice, int shards) {
  DrawnConfig drawn;
  std::vector<std::string> queues{"default", "low", "capped", "shared~*"};
  if (dice.one_in(2)) queues.emplace_back("cold");
  const bool has_side = dice.one_in(2), has_serial = dice.one_in(2);
  if (!has_side) queues.emplace_back("side");
  if (!has_serial) queues.emplace_back("serial");
  for (std::size_t i = queues.size(); i > 1; --i)
    std::swap(queues[i - 1], queues[static_cast<std::size_t>(dice.roll(0, static_cast<int>(i) - 1))]);
  if (dice.one_in(3)) {
    const std::vector<std::string> all{"cold", "side", "serial"};
    for (const std::string& queue : all) {
      if (std::find(queues.begin(), queues.end(), queue) == queues.end()) queues.push_back("!" + queue);
    }
    std::replace(queues.begin(), queues.end(), std::string("low"), std::string(dice.one_in(2) ? "lo*" : "*"));
  }

  const int workers = dice.roll(1, 4);
  drawn.workers = workers;
  std::string text = always;
  text += fmt::format("concurrency = {}\n", workers);
  if (dice.one_in(3)) {
    std::string weighted;
    for (const std::string& queue : queues) {
      const std::string entry =
          queue.front() == '!' ? fmt::format("\"{}\"", queue) : fmt::format("[\"{}\", {}]", queue, dice.roll(1, 5));
      weighted += (weighted.empty() ? "" : ", ") + entry;
    }
    text += "queues = [" + weighted + "]\n";
  } else {
    text += "queues = " + quoted(queues) + "\n";
  }
  text += fmt::format("max_unavailable = {}\n", dice.roll(1, 2));
  text += fmt::format("expired = \"{}\"\n", dice.one_in(2) ? "drop" : "dead");
  if (dice.one_in(3)) text += "max_iteration_runtime = \"200ms\"\n";
  text += "[restart]\ncanary_watch = \"2s\"\n";
  drawn.quarantine = dice.one_in(3);
  if (drawn.quarantine) text += "[crashes]\nquarantine_after = 3\n";
  text += fmt::format("[worker]\ntimeout_grace = \"200ms\"\nmax_batch = {}\n", dice.one_in(2) ? 32 : dice.roll(1, 8));
  const std::vector<std::string> preload{"\"auto\"", "true", "false"};
  text += "preload = " + dice.pick(preload) + "\n";
  if (dice.one_in(3)) text += fmt::format("max_jobs = {}\n", dice.roll(5, 50));
  if (dice.one_in(3)) text += "[classes.WalkPlain]\nisolation = \"process\"\n";
  if (dice.one_in(4)) text += "[classes.WalkApart]\nisolation = \"worker\"\n";
  if (has_side) {
    const int side = dice.roll(1, 2);
    drawn.workers += side;
    text += fmt::format("[capsules.side]\nconcurrency = {}\nqueues = [\"side\", \"low\"]\ntimeout_grace = \"200ms\"\n",
                        side);
  }
  if (has_serial) {
    drawn.workers += 1;
    text += "[capsules.serial]\nconcurrency = 1\nqueues = [\"serial\"]\ntimeout_grace = \"200ms\"\n";
  }
  if (!dice.one_in(3)) drawn.queue_cap = dice.roll(shards, 3);
  if (!dice.one_in(3)) drawn.class_cap = dice.roll(shards, 3);
  text += caps(drawn.queue_cap, drawn.class_cap);
  if (dice.one_in(2)) text += "[periodic.walk_tick]\ncron = \"* * * * * *\"\nclass = \"WalkTick\"\nqueue = \"low\"\n";
  if (dice.one_in(2)) text += fmt::format("[tenants.shared]\none = {}\n", dice.roll(1, 5));
  if (dice.one_in(3)) {
    drawn.tenant_cap = dice.roll(shards, 3);
    text += fmt::format("[limits.walk_tenant]\nqueues = [\"shared~*\"]\nconcurrent = {}\nper = \"tenant\"\n",
                        drawn.tenant_cap);
  }
  drawn.text = std::move(text);
  return drawn;
}

DrawnConfig last_config(WalkDice& dice, int shards) {
  DrawnConfig last;
  last.workers = 4;
  if (dice.one_in(2)) last.queue_cap = shards;
  if (dice.one_in(3)) last.class_cap = shards;
  std::vector<std::string> queues = all_queues;
  std::erase_if(queues, [](const std::string& queue) { return queue.starts_with("shared~"); });
  queues.emplace_back("shared~*");
  last.text = always + std::string("concurrency = 4\nqueues = ") + quoted(queues) +
              "\n[worker]\ntimeout_grace = \"200ms\"\n" + caps(last.queue_cap, last.class_cap);
  return last;
}

}  // namespace brood::walk
