#include "shared/api/push/client_shards.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <thread>

#include "shared/api/push/shard_choice.hpp"
#include "shared/base/redis_clock.hpp"
#include "shared/base/shard_of_key.hpp"
#include "shared/store/queues/push_commands.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto longest_connect_of_one = 2s;
constexpr auto between_last_sends = 20ms;

}  // namespace

ClientShards::Shard::Shard(ClientShards& shards, const RedisAddress& address, bool is_one_of_several)
    : name(address.shard), sender([&shards, address, is_one_of_several] {
        auto made = std::make_unique<PushSender>(address, shards.buffer_);
        if (is_one_of_several) made->connect_within(longest_connect_of_one);
        return made;
      }) {}

ClientShards::ClientShards(const KnownRedis& known) : own_shard_(known.own_shard) {
  for (const RedisAddress& address : known.shards) {
    shards_.push_back(std::make_unique<Shard>(*this, address, known.shards.size() > 1));
    if (address.is_drained) continue;
    takers_.push_back(shards_.back().get());
    names_.push_back(address.shard);
  }
  // Clients that start together, such as the workers of a web server, begin at different shards.
  if (names_.size() > 1)
    next_ = static_cast<std::size_t>(RandomBytes().fraction() * static_cast<double>(names_.size()));
}

ClientShards::~ClientShards() {
  if (shards_.size() < 2 || !buffer_ || buffered() == 0) return;
  const SteadyTime deadline = steady_now() + buffer_->at_end;
  for (SteadyTime now = steady_now(); buffered() > 0 && now < deadline; now = steady_now()) {
    try {
      if (drain(std::chrono::ceil<std::chrono::milliseconds>(deadline - now))) break;
    } catch (const RedisError&) {  // some are refused; others may wait for a shard that comes back
    }
    std::this_thread::sleep_for(between_last_sends);
  }
  buffer_->at_end = 0ms;
  keep_while_away(*buffer_);
}

void ClientShards::keep_while_away(const BufferOptions& options) {
  buffer_ = options;
  for (const auto& shard : shards_) shard->sender.use([&](PushSender& sender) { sender.keep_while_away(options); });
}

// Lets a shard rest that was found away; the attempt to reach it began at `since`.
void ClientShards::Shard::rest(SteadyTime since) {
  const SteadyTime now = steady_now();
  rests_until = (now + rest_after(now - since)).time_since_epoch().count();
}

std::optional<std::size_t> ClientShards::own() const {
  if (!own_shard_) return std::nullopt;
  const std::string name = own_shard_();
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (name.empty() || found == names_.end()) return std::nullopt;
  return found - names_.begin();
}

std::vector<std::size_t> ClientShards::order(std::size_t next) {
  std::vector<SteadyTime> rests;
  rests.reserve(takers_.size());
  for (const Shard* const shard : takers_) rests.emplace_back(SteadyTime::duration(shard->rests_until.load()));
  return shards_to_try(own().value_or(next % takers_.size()), rests, steady_now());
}

std::size_t ClientShards::shard_for(std::string_view key) const {
  return takers_.size() == 1 ? 0 : shard_of_key(names_, key);
}

// The name may be that of a drained shard.
void ClientShards::require_takers() const {
  if (takers_.empty())
    throw RedisError("the shard " + shards_.front()->name + " is drained: nothing new is pushed there");
}

bool ClientShards::answers(Shard& shard) {
  const SteadyTime began = steady_now();
  if (SteadyTime(SteadyTime::duration(shard.rests_until.load())) > began) return false;
  try {
    shard.sender.use([](PushSender& sender) { sender.redis().prove_that_it_answers(); });
    return true;
  } catch (const RedisError&) {  // a push will report the reason
    shard.rest(began);
    return false;
  }
}

std::optional<std::string> ClientShards::try_one(Shard& shard, std::vector<ClientPush>& slice, std::size_t batch_size) {
  const SteadyTime began = steady_now();
  try {
    auto why = shard.sender.use([&](PushSender& sender) { return sender.push_unless_away(slice, batch_size); });
    if (why)
      shard.rest(began);
    else
      shard.rests_until = 0;
    return why;
  } catch (const RedisError& error) {
    if (is_away(error)) shard.rest(began);  // it may have the jobs: no other shard gets them
    throw;
  }
}

void ClientShards::push_to_any(std::vector<ClientPush>& slice, std::size_t batch_size) {
  const std::vector<std::size_t> candidates = order(next_++);
  std::string why;
  for (const std::size_t i : candidates) {
    const auto away = try_one(*takers_[i], slice, batch_size);
    if (!away) return;
    why += (why.empty() ? "" : "; ") + takers_[i]->name + ": " + *away;
  }
  if (!buffer_) throw RedisError("no shard takes pushes: " + why);
  for (const std::size_t i : candidates) {
    try {
      return push_to_one(*takers_[i], slice, batch_size);
    } catch (const BufferFull&) {
      if (i == candidates.back()) throw;
    }
  }
}

void ClientShards::push_to_one(Shard& shard, std::vector<ClientPush> jobs, std::size_t batch_size) {
  shard.sender.use([&](PushSender& sender) { sender.push(std::move(jobs), batch_size); });
}

void ClientShards::push(std::vector<ClientPush> jobs, std::size_t batch_size) {
  require_takers();
  if (takers_.size() == 1) return push_to_one(*takers_.front(), std::move(jobs), batch_size);
  const std::size_t all = jobs.size(), slice_size = batch_size == 0 ? usual_push_batch : batch_size;
  std::map<std::size_t, std::vector<ClientPush>> bound;
  std::vector<std::vector<ClientPush>> slices;
  for (ClientPush& job : jobs) {
    if (!job.shard_by.empty()) {
      bound[shard_for(job.shard_by)].push_back(std::move(job));
    } else {
      if (slices.empty() || slices.back().size() == slice_size) slices.emplace_back();
      slices.back().push_back(std::move(job));
    }
  }
  std::size_t pushed = 0;
  std::optional<NotConfirmed> unconfirmed;  // these are pushed, and the others are to be
  const auto counted = [&](const std::string& why) {
    return pushed == 0 ? why
                       : why + "; of " + std::to_string(all) + " jobs " + std::to_string(pushed) +
                             " others were pushed or are kept" +
                             (unconfirmed ? ", and replicas have not confirmed all of them" : "");
  };
  const auto push_some = [&](std::size_t count, const auto& push) {
    try {
      push();
    } catch (const NotConfirmed& error) {
      unconfirmed = error;
    }
    pushed += count;
  };
  try {
    for (auto& one : bound)
      push_some(one.second.size(), [&] { push_to_one(*takers_[one.first], std::move(one.second), batch_size); });
    for (auto& slice : slices) push_some(slice.size(), [&] { push_to_any(slice, batch_size); });
  } catch (const BufferFull& error) {
    throw BufferFull(counted(error.what()));
  } catch (const RedisError& error) {
    throw RedisError(counted(error.what()));
  }
  if (unconfirmed) throw *unconfirmed;
}

void ClientShards::push_once(ClientPush job) {
  require_takers();
  takers_[shard_for(job.shard_by)]->sender.use([&](PushSender& sender) { sender.push_once(std::move(job)); });
}

std::size_t ClientShards::choose() {
  require_takers();
  const std::vector<std::size_t> candidates = order(next_++);
  const auto answering = std::find_if(candidates.begin(), candidates.end(),
                                      [this](std::size_t i) { return takers_.size() == 1 || answers(*takers_[i]); });
  const Shard* const chosen = takers_[answering == candidates.end() ? candidates.front() : *answering];
  return std::find_if(shards_.begin(), shards_.end(), [&](const auto& shard) { return shard.get() == chosen; }) -
         shards_.begin();
}

TimeUnit ClientShards::times_of_fleet(const std::vector<Push>& jobs, std::size_t batch_size) {
  const auto times_of = [](Shard& shard) {
    return shard.sender.use([](PushSender& sender) { return sender.times_of_fleet(); });
  };
  require_takers();
  if (takers_.size() == 1) return times_of(*takers_.front());
  std::set<std::size_t> bound;
  std::size_t free = 0;
  for (const Push& job : jobs) {
    if (job.shard_by.empty())
      ++free;
    else
      bound.insert(shard_for(job.shard_by));
  }
  const std::size_t slice_size = batch_size == 0 ? usual_push_batch : batch_size;
  std::size_t slices = (free + slice_size - 1) / slice_size;
  std::optional<TimeUnit> unit;
  for (const std::size_t i : order(next_)) {
    if (slices == 0 && !bound.contains(i)) continue;
    if (!answers(*takers_[i])) continue;
    if (slices > 0) --slices;
    const TimeUnit here = times_of(*takers_[i]);
    if (!unit || here == TimeUnit::float_seconds) unit = here;  // which every release reads
  }
  return unit.value_or(usual_time_unit);
}

void ClientShards::ask_time() {
  const auto ask = [](Shard& shard) {
    shard.sender.use([](PushSender& its) {
      if (its.buffered() == 0) its.redis().ask_time();
    });
  };
  if (takers_.empty()) return ask(*shards_.front());
  for (const std::size_t i : order(next_)) {
    if (takers_.size() > 1 && !answers(*takers_[i])) continue;
    ask(*takers_[i]);
    if (redis_time_is_fresh()) return;
  }
}

std::size_t ClientShards::buffered() const {
  std::size_t kept = 0;
  for (const auto& shard : shards_) kept += shard->sender.use([](PushSender& sender) { return sender.buffered(); });
  return kept;
}

bool ClientShards::drain(std::chrono::milliseconds longest) {
  const SteadyTime deadline = steady_now() + longest;
  bool all = true;
  each([&](PerProcess<PushSender>& sender) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_now());
    all = sender.use([&](PushSender& its) { return its.buffered() == 0 || its.drain(std::max(left, 1ms)); }) && all;
  });
  return all;
}

}  // namespace brood
