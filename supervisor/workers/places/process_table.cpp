#include "supervisor/workers/places/process_table.hpp"

#include <algorithm>
#include <stdexcept>

namespace brood {
namespace {

bool is_to_be_filled(const ProcessTable::Place& place) {
  return place.state == ProcessTable::Place::State::kept && !place.slot && !place.reserved;
}

}  // namespace

ProcessTable::ProcessTable(int slots) : slots_(static_cast<std::size_t>(slots)) {}

void ProcessTable::resume(std::uint64_t last_incarnation, int used_slots) {
  last_incarnation_ = last_incarnation;
  used_ = std::clamp(used_slots, used_, this->slots());
}

void ProcessTable::grow(int slots) { slots_.resize(std::max(slots_.size(), static_cast<std::size_t>(slots))); }

int ProcessTable::add_place(std::uint32_t generation, int capsule, int number, Place::State state) {
  Place place;
  place.generation = generation;
  place.capsule = capsule;
  place.number = number;
  place.state = state;
  places_.emplace(next_key_, place);
  return next_key_++;
}

void ProcessTable::remove_place(int key) { places_.erase(key); }

SteadyTime ProcessTable::rests_until(int slot) const {
  if (slots_.at(static_cast<std::size_t>(slot)).pid != 0) return {};
  for (const auto& [key, place] : places_) {
    if (place.last_slot == slot && !place.slot) return place.rests_until;
  }
  return {};
}

std::optional<int> ProcessTable::free_slot() const {
  const auto found =
      std::find_if(slots_.begin(), slots_.end(), [](const Slot& s) { return s.pid == 0 && !s.held && !s.reserved; });
  if (found == slots_.end()) return std::nullopt;
  return static_cast<int>(found - slots_.begin());
}

void ProcessTable::reserve(int slot, int key) {
  Slot& taken = (*this)[slot];
  Place& place = places_.at(key);
  if (taken.pid != 0 || taken.held || taken.reserved || place.slot)
    throw std::logic_error("slot " + std::to_string(slot) + " or its place is occupied");
  taken.reserved = true;
  taken.place = key;
  place.reserved = true;
}

void ProcessTable::unreserve(int slot) {
  if (Place* const place = place_of(slot)) place->reserved = false;
  (*this)[slot].reserved = false;
}

void ProcessTable::occupy(int slot, int key, pid_t pid, SteadyTime now) {
  Slot& taken = (*this)[slot];
  Place& place = places_.at(key);
  if (taken.pid != 0 || taken.held || taken.reserved || place.slot)
    throw std::logic_error("slot " + std::to_string(slot) + " or its place is occupied");
  const std::uint64_t incarnation = taken.incarnation, processed_before = taken.processed_before;
  const int shard = taken.shard;
  taken = {};
  taken.shard = taken.wanted_shard = shard;
  taken.in_shard_since = now;
  taken.pid = pid;
  taken.place = key;
  taken.generation = place.generation;
  taken.capsule = place.capsule;
  taken.number = place.number;
  taken.incarnation = incarnation;
  taken.processed_before = processed_before;
  taken.occupied_since = now;
  place.slot = slot;
  used_ = std::max(used_, slot + 1);
}

std::optional<int> ProcessTable::vacate(pid_t pid) {
  const auto slot = slot_of(pid);
  if (!slot) return std::nullopt;
  if (Place* const place = place_of(*slot)) {
    place->slot.reset();
    place->last_slot = *slot;
  }
  (*this)[*slot].pid = 0;
  (*this)[*slot].held = true;
  return slot;
}

void ProcessTable::hold(int slot, const Slot& last) {
  Slot& held = (*this)[slot];
  if (held.pid != 0 || held.reserved) throw std::logic_error("slot " + std::to_string(slot) + " is occupied");
  held = last;
  held.pid = 0;
  held.held = true;
  held.place = -1;
  used_ = std::max(used_, slot + 1);
}

void ProcessTable::release(int slot) { (*this)[slot].held = false; }

void ProcessTable::note_ready(int slot, SteadyTime now) {
  Slot& taken = (*this)[slot];
  if (!taken.ready_at) taken.ready_at = now;
  if (Place* const place = place_of(slot)) place->was_ready = true;
}

std::uint64_t ProcessTable::assign_incarnation(int slot) { return (*this)[slot].incarnation = ++last_incarnation_; }

std::optional<int> ProcessTable::slot_of(pid_t pid) const {
  if (pid <= 0) return std::nullopt;
  const auto found = std::find_if(slots_.begin(), slots_.end(), [&](const Slot& slot) { return slot.pid == pid; });
  if (found == slots_.end()) return std::nullopt;
  return static_cast<int>(found - slots_.begin());
}

std::vector<int> ProcessTable::due_for_refill(SteadyTime now) const {
  std::vector<int> due;
  for (const auto& [key, place] : places_) {
    if (is_to_be_filled(place) && place.rests_until <= now) due.push_back(key);
  }
  return due;
}

std::optional<SteadyTime> ProcessTable::next_refill(SteadyTime now) const {
  std::optional<SteadyTime> next;
  for (const auto& [key, place] : places_) {
    if (is_to_be_filled(place) && place.rests_until > now && (!next || place.rests_until < *next))
      next = place.rests_until;
  }
  return next;
}

int ProcessTable::kept() const {
  return static_cast<int>(std::count_if(places_.begin(), places_.end(),
                                        [](const auto& entry) { return entry.second.state == Place::State::kept; }));
}

int ProcessTable::ready() const {
  return static_cast<int>(std::count_if(places_.begin(), places_.end(), [&](const auto& entry) {
    const Place& place = entry.second;
    return place.state == Place::State::kept && place.slot && (*this)[*place.slot].ready_at;
  }));
}

bool ProcessTable::all_were_ready() const {
  return std::all_of(places_.begin(), places_.end(), [](const auto& entry) {
    return entry.second.state != Place::State::kept || entry.second.was_ready;
  });
}

ProcessTable::FailingStarts ProcessTable::failing_starts() const {
  FailingStarts failing;
  for (const auto& [key, place] : places_) {
    const bool is_ready = place.slot && (*this)[*place.slot].ready_at;
    if (place.state != Place::State::kept || place.policy.failed_starts() == 0 || is_ready) continue;
    ++failing.places;
    failing.longest_rest = std::max(failing.longest_rest, place.rest);
  }
  return failing;
}

int ProcessTable::occupied() const {
  return static_cast<int>(std::count_if(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.pid != 0; }));
}

ProcessTable::Place* ProcessTable::place_of(int slot) {
  const auto found = places_.find((*this)[slot].place);
  // A place that has got another worker meanwhile is not this slot's any more.
  if (found == places_.end() || (found->second.slot && found->second.slot != slot)) return nullptr;
  return &found->second;
}

}  // namespace brood
