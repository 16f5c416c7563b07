#include "supervisor/control/redis_orders.hpp"

#include <algorithm>

#include "shared/json/json_object.hpp"

namespace brood {
namespace {

using Outcome = OrderState::Outcome;

// Progress and refusals are short, but a refusal may quote a file.
constexpr std::size_t longest_text = 500;

void note_answer(OrderState& order, const std::string& json) {
  const JsonObject answer = JsonObject::parse(json);
  order.outcome = order_outcome(answer.string("outcome").value_or("")).value_or(Outcome::done);
  order.text = answer.string("reason").value_or("");
}

}  // namespace

RedisOrders::Reception RedisOrders::take(const FleetWord& word, WallTime now) {
  const OrderTicket& ticket = *word.ticket;
  const bool is_known =
      std::any_of(orders_.begin(), orders_.end(), [&](const OrderState& order) { return order.id == ticket.id; });
  if (is_known) return Reception::repeated;
  const bool is_expired = epoch_seconds(now) > static_cast<double>(ticket.until);
  orders_.insert(orders_.begin(), OrderState{.id = ticket.id,
                                             .verb = word.verb,
                                             .outcome = is_expired ? Outcome::expired : Outcome::under_way,
                                             .text = ""});
  if (orders_.size() > most_kept) orders_.pop_back();
  return is_expired ? Reception::expired : Reception::follow;
}

void RedisOrders::note(const std::string& id, const ControlLine& line) {
  const auto order = std::find_if(orders_.begin(), orders_.end(), [&](const OrderState& one) { return one.id == id; });
  if (order == orders_.end() || order->outcome != Outcome::under_way) return;
  switch (line.kind) {
    case ControlLine::Kind::progress:
      order->text = line.text;
      break;
    case ControlLine::Kind::ok:
      note_answer(*order, line.text);
      break;
    case ControlLine::Kind::error:
      order->outcome = Outcome::refused;
      order->text = line.text;
      break;
  }
  order->text.resize(std::min(order->text.size(), longest_text));
}

}  // namespace brood
