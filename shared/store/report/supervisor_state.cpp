#include "shared/store/report/supervisor_state.hpp"

#include <array>
#include <utility>

#include "shared/json/json_object.hpp"
#include "shared/json/json_writer.hpp"
#include "shared/store/keys.hpp"

namespace brood {
namespace {

using Outcome = OrderState::Outcome;

constexpr std::size_t longest_state = 16'000, longest_text = 1'000;

constexpr std::array<std::pair<Outcome, std::string_view>, 6> outcome_names = {{{Outcome::under_way, "under_way"},
                                                                                {Outcome::done, "done"},
                                                                                {Outcome::refused, "refused"},
                                                                                {Outcome::rolled_back, "rolled_back"},
                                                                                {Outcome::not_now, "not_now"},
                                                                                {Outcome::expired, "expired"}}};

std::string json_of_order(const OrderState& order) {
  return JsonWriter()
      .text("id", order.id)
      .text("verb", order.verb)
      .text("outcome", name_of(order.outcome))
      .text("text", order.text.substr(0, longest_text))
      .object();
}

std::optional<OrderState> parse_order(std::string_view json) {
  const JsonObject object = JsonObject::parse(json);
  const auto outcome = order_outcome(object.string("outcome").value_or(""));
  if (!outcome) return std::nullopt;
  return OrderState{object.string("id").value_or(""), object.string("verb").value_or(""), *outcome,
                    object.string("text").value_or("")};
}

}  // namespace

std::string_view name_of(Outcome outcome) {
  for (const auto& [known, name] : outcome_names) {
    if (known == outcome) return name;
  }
  return "";
}

std::optional<Outcome> order_outcome(std::string_view name) {
  for (const auto& [outcome, known] : outcome_names) {
    if (known == name) return outcome;
  }
  return std::nullopt;
}

std::string text_of(const SupervisorState& state) {
  return JsonWriter()
      .text("phase", state.phase)
      .number("generation", state.generation)
      .decimal("loaded_at", state.loaded_at)
      .each("orders", state.orders, json_of_order)
      .object();
}

std::optional<SupervisorState> parse_supervisor_state(std::string_view text) {
  if (text.size() > longest_state) return std::nullopt;
  try {
    const JsonObject object = JsonObject::parse(text);
    SupervisorState state;
    state.phase = object.string("phase").value_or("");
    const std::int64_t generation = object.integer("generation").value_or(0);
    if (state.phase.empty() || generation < 1 || generation > UINT32_MAX) return std::nullopt;
    state.generation = static_cast<std::uint32_t>(generation);
    const double loaded_at = object.number("loaded_at").value_or(0);
    if (loaded_at > 0 && loaded_at < 1e11) state.loaded_at = loaded_at;
    for (const std::string& json : json_elements(object.raw("orders").value_or("[]"))) {
      if (!json.starts_with('{')) continue;
      if (auto order = parse_order(json)) state.orders.push_back(std::move(*order));
    }
    return state;
  } catch (const BadJson&) {
    return std::nullopt;
  }
}

Command ask_supervisor_state(std::string_view identity) {
  return {"HGET", keys::heartbeat(identity), keys::supervisor_state_field};
}

std::optional<SupervisorState> read_supervisor_state(ReplyView reply) {
  return reply.is_string() ? parse_supervisor_state(reply.text()) : std::nullopt;
}

}  // namespace brood
