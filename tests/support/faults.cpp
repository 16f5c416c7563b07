#include "tests/support/faults.hpp"

#include <signal.h>

#include <cstdlib>
#include <iostream>
#include <sstream>

namespace brood {

namespace {

unsigned chosen_seed() {
  const char* wanted = std::getenv("BROOD_TEST_SEED");
  return wanted != nullptr ? static_cast<unsigned>(std::strtoul(wanted, nullptr, 10)) : std::random_device()();
}

template <typename Handle>
void for_each_line(const BroodProcess& brood, const std::string& event, Handle handle) {
  std::istringstream log(brood.log());
  for (std::string line; std::getline(log, line);) {
    if ((line + " ").find("event=" + event + " ") != std::string::npos) handle(line);
  }
}

void make_due(RedisServer& redis, const std::string& set) {
  Command all{"ZADD", set, "XX"};
  const std::size_t none = all.args.size();
  for (const auto& [member, due] : redis.zrange(set)) {
    if (due <= 1) continue;
    all.args.emplace_back("1");
    all.args.push_back(member);
  }
  if (all.args.size() > none) redis.command(all);
}

}  // namespace

Dice::Dice() : seed_(chosen_seed()), generator_(seed_) { std::cout << "BROOD_TEST_SEED=" << seed_ << std::endl; }

int Dice::roll(int lowest, int highest) { return std::uniform_int_distribution<int>(lowest, highest)(generator_); }

void kill_with_workers(BroodProcess& brood) {
  // Stops it first, so that it does not reap, charge or refill meanwhile.
  brood.signal(SIGSTOP);
  for (const pid_t child : children_of(brood.pid())) kill(child, SIGKILL);
  brood.kill9();
}

void make_retries_due(RedisServer& redis) { make_due(redis, "retry"); }

void make_schedule_due(RedisServer& redis) { make_due(redis, "schedule"); }

std::size_t times_logged(const BroodProcess& brood, const std::string& event) {
  std::size_t times = 0;
  for_each_line(brood, event, [&](const std::string&) { ++times; });
  return times;
}

long sum_logged(const BroodProcess& brood, const std::string& event, const std::string& key) {
  long sum = 0;
  for_each_line(brood, event, [&](const std::string& line) {
    const std::size_t at = line.find(" " + key + "=");
    if (at != std::string::npos) sum += std::strtol(line.c_str() + at + key.size() + 2, nullptr, 10);
  });
  return sum;
}

}  // namespace brood
