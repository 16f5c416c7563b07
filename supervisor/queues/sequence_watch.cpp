#include "supervisor/queues/sequence_watch.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "shared/base/log.hpp"
#include "shared/base/random.hpp"
#include "shared/base/redis_clock.hpp"
#include "shared/redis/pace.hpp"
#include "shared/store/marked_jobs.hpp"
#include "shared/store/places_of_jobs.hpp"
#include "shared/store/queues/known_queues.hpp"
#include "shared/store/scan.hpp"
#include "shared/store/sequences/sequences.hpp"

namespace brood {

using Result = AsyncConnection::Result;

struct SequenceWatch::State {
  State(EventLoop& loop, AsyncConnection& connection, std::string name, Pace its_pace)
      : redis(connection), identity(std::move(name)), pace(its_pace), next(loop, [this] { take(step); }) {}

  AsyncConnection::Scope redis;
  const std::string identity;
  const Pace pace;
  Timer next;
  bool is_stopped = false;
  std::function<void()> step;           // what follows
  std::vector<SequenceState> missed;    // their holders were not found yet, by this look
  std::set<std::string> missed_before;  // fields of those that the last look has missed
  // A look asks for a hundred sequences at most.  After two looks at these the next ones have their turn.
  std::string window = std::string(first_sequence_page), next_window = window;
  bool is_second_look = false;
  std::vector<RedisKey> places;         // to be searched
  std::size_t place = 0, position = 0;  // of the search

  static void take(std::function<void()> what) {
    if (what) what();
  }
  void go_on(std::chrono::nanoseconds later, std::function<void()> what) {
    if (is_stopped) return;
    step = std::move(what);
    next.start_in(later);
  }
  void rest() {
    go_on(jittered(pace.between_looks), [this] { look(); });
  }
  // Whatever is refused or lost is looked at again a minute later.
  void ask(Command command, std::function<void(ReplyView)> then) {
    redis.send(std::move(command), longest_answer_time, [this, then = std::move(then)](const Result& result) {
      if (result.ok()) return then(result.reply.view());
      missed_before.clear();
      rest();
    });
  }
  void run(ScriptCall call, std::function<void(ReplyView)> then) {
    redis.run_all({std::move(call)}, longest_answer_time,
                  [this, then = std::move(then)](const std::vector<Result>& results) {
                    if (results.front().ok()) return then(results.front().reply.view());
                    missed_before.clear();
                    rest();
                  });
  }

  void look();
  void take_turn();
  void read_page(std::string cursor);
  void find_in_flight();
  void list_places();
  void search();
  void note_found(std::string_view payload);
  void pass_on();
};

void SequenceWatch::State::look() {
  missed.clear();
  ask(ask_any_sequence(), [this](ReplyView there) {
    if (there.is_integer() && there.integer() > 0) return take_turn();
    missed_before.clear();
    rest();
  });
}

void SequenceWatch::State::take_turn() {
  const std::vector<Command> turn = take_turn_to_watch(identity);
  redis.send(turn[0], longest_answer_time, [](const Result&) {});
  ask(turn[1], [this](ReplyView who) {
    if (who.is_string() && who.text() == identity) {
      redis.send(keep_turn_to_watch(), longest_answer_time, [](const Result&) {});
      return read_page(window);
    }
    missed_before.clear();
    rest();
  });
}

void SequenceWatch::State::read_page(std::string cursor) {
  constexpr std::size_t most_at_once = 100;
  run(sequence_page(cursor), [this](ReplyView reply) {
    SequencePage page = read_sequence_page(reply);
    for (SequenceState& sequence : page.sequences) {
      const bool is_old = redis_now() - sequence.since >= pace.held_for;
      if (sequence.waiting > 0 && is_old && missed.size() < most_at_once) missed.push_back(std::move(sequence));
    }
    next_window = page.next;
    if (page.next != first_sequence_page && missed.size() < most_at_once)
      return go_on(pace.between_pages, [this, cursor = page.next] { read_page(cursor); });
    find_in_flight();
  });
}

void SequenceWatch::State::find_in_flight() {
  if (missed.empty()) return pass_on();
  std::vector<std::string> jids;
  for (const SequenceState& sequence : missed) jids.push_back(sequence.holder);
  run(held_in_flight(jids), [this](ReplyView reply) {
    const std::vector<std::string> found = read_held_in_flight(reply);
    std::erase_if(missed, [&](const SequenceState& sequence) {
      return std::find(found.begin(), found.end(), sequence.holder) != found.end();
    });
    list_places();
  });
}

void SequenceWatch::State::list_places() {
  if (missed.empty()) return pass_on();
  ask(ask_queue_names(), [this](ReplyView names) {
    std::vector<std::string> queues = read_name_list_if_told(names).value_or(std::vector<std::string>());
    ask(ask_set_aside(), [this, queues = std::move(queues)](ReplyView asides) {
      places.clear();
      place = position = 0;
      for (const PlaceOfJobs& one :
           places_of_waiting_jobs(queues, read_name_list_if_told(asides).value_or(std::vector<std::string>())))
        places.push_back(one.key);
      // Retries first: there most holders are.
      std::iter_swap(places.begin(), places.begin() + 1);
      search();
    });
  });
}

void SequenceWatch::State::search() {
  if (missed.empty() || place == places.size()) return pass_on();
  std::vector<std::string_view> jids;
  for (const SequenceState& sequence : missed) jids.push_back(sequence.holder);
  run(marked_jobs(places[place], position, jids), [this](ReplyView reply) {
    const MarkedJobs page = read_marked_jobs(reply);
    for (const MarkedJob& job : page.jobs) note_found(job.payload);
    position += page.looked_at;
    if (page.looked_at == 0) {
      ++place;
      position = 0;
      return search();
    }
    go_on(pace.between_pages, [this] { search(); });
  });
}

void SequenceWatch::State::note_found(std::string_view payload) {
  std::erase_if(missed, [&](const SequenceState& sequence) { return payload.find(sequence.holder) != payload.npos; });
}

void SequenceWatch::State::pass_on() {
  std::set<std::string> now;
  for (const SequenceState& sequence : missed) {
    const std::string known = sequence.name + "\n" + sequence.field;
    if (!missed_before.contains(known)) {
      now.insert(known);
      continue;
    }
    redis.run_all({pass_sequence_on(sequence)}, longest_answer_time,
                  [name = sequence.name, jid = sequence.holder](const std::vector<Result>& results) {
                    const Result& passed = results.front();
                    if (!passed.ok() || !passed.reply.view().is_integer() || passed.reply.view().integer() == 0) return;
                    log::warn("sequence_passed_on",
                              {{"sequence", name}, {"jid", jid}, {"reason", "this job held it and exists no more"}});
                  });
  }
  if (is_second_look) {
    window = next_window;
    now.clear();
  }
  is_second_look = !is_second_look;
  missed_before = std::move(now);
  rest();
}

SequenceWatch::SequenceWatch(EventLoop& loop, AsyncConnection& redis, std::string identity, Pace pace)
    : state_(std::make_unique<State>(loop, redis, std::move(identity), pace)) {}

SequenceWatch::~SequenceWatch() = default;

void SequenceWatch::start() {
  state_->is_stopped = false;
  state_->rest();
}

void SequenceWatch::stop() {
  state_->is_stopped = true;
  state_->next.stop();
}

}  // namespace brood
