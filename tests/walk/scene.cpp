#include "tests/walk/scene.hpp"

#include <fmt/format.h>

#include <iostream>

namespace brood::walk {
namespace {

SiteShape draw_shape(WalkDice& dice) {
  SiteShape shape;
  shape.shards = dice.one_in(3) ? 2 : 1;
  shape.has_spare = dice.one_in(3);
  shape.has_two_fleets = dice.one_in(3);
  shape.preloads = dice.one_in(2);
  shape.clients_keep = dice.one_in(2);
  return shape;
}

}  // namespace

Scene::Scene(const WalkOptions& walk_options)
    : options(walk_options),
      dice(options.seed),
      shape(draw_shape(dice)),
      site(shape, options.planted),
      book(site.ledger),
      excuses{.shards_change = shape.has_spare} {}

void Scene::note(const std::string& what) {
  actions.push_back(fmt::format("{:8.3f} {}", static_cast<double>(now_ns() - began) / second_ns, what));
  if (options.verbose) std::cout << actions.back() << std::endl;
}

Fleet& Scene::some_fleet() {
  return site.fleets[static_cast<std::size_t>(dice.roll(0, static_cast<int>(site.fleets.size()) - 1))];
}

Shard& Scene::some_shard(int& index) {
  index = dice.roll(0, shape.all_shards() - 1);
  return site.shards[static_cast<std::size_t>(index)];
}

std::string Scene::command(int shard, std::vector<std::string> words) {
  words.insert(words.end(), {"--redis", site.shards[static_cast<std::size_t>(shard)].server.url()});
  const CommandResult result = run_brood(words);
  return result.output + result.errors;
}

CommandResult Scene::command_at(Fleet& fleet, std::vector<std::string> words) {
  return run_brood(words, fleet.process().environment());
}

}  // namespace brood::walk
