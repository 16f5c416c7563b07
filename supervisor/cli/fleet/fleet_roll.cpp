#include "supervisor/cli/fleet/fleet_roll.hpp"

#include <algorithm>
#include <utility>

namespace brood {
namespace {

using End = FleetRoll::End;
using Place = Placing::Place;

End end_of(OrderState::Outcome outcome) {
  switch (outcome) {
    case OrderState::Outcome::under_way:
      break;
    case OrderState::Outcome::done:
      return End::done;
    case OrderState::Outcome::refused:
      return End::refused;
    case OrderState::Outcome::rolled_back:
      return End::rolled_back;
    case OrderState::Outcome::not_now:
      return End::not_now;
    case OrderState::Outcome::expired:
      return End::not_taken;
  }
  return End::lost_track;
}

}  // namespace

Placing placing_of(const FleetMember& member, std::optional<WallTime> loaded_before) {
  if (!member.state) {
    if (!member.is_broods) return {Place::no_concern, "it is no supervisor of brood; restart it where it runs"};
    return {Place::left_out, "its brood is older and takes no such order; run \"brood restart\" on its host"};
  }
  const std::string& phase = member.state->phase;
  if (phase == "quiet") return {Place::left_out, "it is quiet; resume it first"};
  if (phase != "running") return {Place::no_concern, "it is stopping"};
  if (loaded_before && member.state->loaded_at >= epoch_seconds(*loaded_before))
    return {Place::new_already, "its workers are new already"};
  return {};
}

std::optional<std::size_t> FleetRoll::next() const {
  if (is_under_way_ || failure_ || turn_ >= ends_.size()) return std::nullopt;
  return turn_;
}

void FleetRoll::begin(std::string id, SteadyTime now) {
  id_ = std::move(id);
  text_.clear();
  given_at_ = now;
  is_under_way_ = true;
  was_taken_ = false;
}

std::optional<End> FleetRoll::look(const std::optional<SeenMember>& seen, SteadyTime now) {
  if (!is_under_way_) return std::nullopt;
  const auto end = judge(seen, now);
  if (!end) return std::nullopt;
  ends_[turn_] = end;
  is_under_way_ = false;
  if (*end == End::done)
    ++turn_;
  else
    failure_ = end;
  return end;
}

std::optional<End> FleetRoll::judge(const std::optional<SeenMember>& seen, SteadyTime now) {
  if (seen && !seen->beats) return End::gone;
  if (seen && seen->state) {
    const std::vector<OrderState>& orders = seen->state->orders;
    const auto order = std::find_if(orders.begin(), orders.end(), [&](const OrderState& one) { return one.id == id_; });
    if (order != orders.end()) {
      was_taken_ = true;
      text_ = order->text;
      if (order->outcome != OrderState::Outcome::under_way) return end_of(order->outcome);
    } else if (was_taken_) {
      return End::lost_track;
    } else if (now - given_at_ >= limits_.to_begin) {
      return End::not_taken;
    }
  }
  return now - given_at_ >= limits_.to_end ? std::optional(End::overdue) : std::nullopt;
}

std::vector<std::size_t> FleetRoll::restarted() const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    if (ends_[i] == End::done) found.push_back(i);
  }
  return found;
}

std::vector<std::size_t> FleetRoll::old() const {
  std::vector<std::size_t> found;
  for (std::size_t i = turn_; i < ends_.size(); ++i) found.push_back(i);
  return found;
}

std::string_view name_of(End end) {
  switch (end) {
    case End::done:
      return "done";
    case End::refused:
      return "refused";
    case End::rolled_back:
      return "rolled_back";
    case End::not_now:
      return "not_now";
    case End::not_taken:
      return "not_taken";
    case End::lost_track:
      return "lost_track";
    case End::gone:
      return "gone";
    case End::overdue:
      return "overdue";
  }
  return "";
}

std::string sentence_of(End end, const std::string& text) {
  switch (end) {
    case End::done:
      return "done";
    case End::refused:
      return "refused, and nothing has changed there: " + text;
    case End::rolled_back:
      return "rolled back, and its old workers go on: " + text;
    case End::not_now:
      return "not now: " + text;
    case End::not_taken:
      return "it has not taken the order in time, which is void now";
    case End::lost_track:
      return "it was upgraded meanwhile and does not know the order any more; its log shows what became of it";
    case End::gone:
      return "its heartbeat has ended: it has stopped, or it is cut off from Redis";
    case End::overdue:
      return "it has not carried out the order within --timeout, and may still do so" +
             (text.empty() ? "" : ": " + text);
  }
  return "";
}

}  // namespace brood
