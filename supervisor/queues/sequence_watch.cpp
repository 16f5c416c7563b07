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

namespace {

constexpr std::size_t most_at_once = 100;  // sequences of one look, and strays

}  // namespace

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
  SteadyTime next_search_for_strays = steady_now() + jittered(pace.between_searches);
  std::vector<std::string> strays;      // in which jobs wait for no holder; until the second look
  std::set<std::string> reported;       // keys that Redis refuses, each once
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
  void begin_anew() {
    missed_before.clear();
    rest();
  }
  // Looks again a minute later at whatever is refused or lost.
  void ask(Command command, std::function<void(ReplyView)> then) {
    redis.send(std::move(command), longest_answer_time, [this, then = std::move(then)](const Result& result) {
      if (!result.ok()) return begin_anew();
      then(result.reply.view());
    });
  }
  void run(ScriptCall call, std::function<void(ReplyView)> then) {
    run_or(std::move(call), std::move(then), [this](const std::string&) { begin_anew(); });
  }
  // `refused` is called if Redis answers by an error.
  void run_or(ScriptCall call, std::function<void(ReplyView)> then, std::function<void(const std::string&)> refused) {
    redis.run_all({std::move(call)}, longest_answer_time,
                  [this, then = std::move(then), refused = std::move(refused)](const std::vector<Result>& results) {
                    const Result& result = results.front();
                    if (result.ok()) return then(result.reply.view());
                    if (!result.error.empty()) return begin_anew();
                    refused(result.why());
                  });
  }

  void look();
  void take_turn();
  void find_strays();
  void read_strays(std::string cursor);
  void read_page(std::string cursor);
  void find_in_flight();
  void list_places();
  void search();
  void note_found(std::string_view payload);
  void pass_on();
  void report_refusal(const std::string& key, const std::string& why);
};

void SequenceWatch::State::look() {
  missed.clear();
  ask(ask_any_sequence(), [this](ReplyView there) {
    const bool are_some = there.is_integer() && there.integer() > 0;
    if (are_some || !strays.empty() || steady_now() >= next_search_for_strays) return take_turn();
    begin_anew();
  });
}

void SequenceWatch::State::take_turn() {
  const std::vector<Command> turn = take_turn_to_watch(identity);
  redis.send(turn[0], longest_answer_time, [](const Result&) {});
  ask(turn[1], [this](ReplyView who) {
    const bool searches = steady_now() >= next_search_for_strays;
    if (searches) next_search_for_strays = steady_now() + jittered(pace.between_searches);
    if (!who.is_string() || who.text() != identity) {
      strays.clear();
      return begin_anew();
    }
    // If Redis refuses us a queue, another supervisor may have the right.  So the turn is not renewed, and the other
    // one may take it.
    if (reported.empty()) redis.send(keep_turn_to_watch(), longest_answer_time, [](const Result&) {});
    if (searches && strays.empty()) return find_strays();
    read_page(window);
  });
}

void SequenceWatch::State::find_strays() {
  // Another supervisor may have had its turn just before.
  ask(take_turn_to_find_strays(identity, pace.between_searches * 9 / 10), [this](ReplyView answer) {
    if (!read_has_turn(answer)) return read_page(window);
    read_strays(std::string(first_sequence_page));
  });
}

void SequenceWatch::State::read_strays(std::string cursor) {
  run(stray_sequences(cursor), [this](ReplyView reply) {
    StraySequences page = read_stray_sequences(reply);
    for (std::string& name : page.names) {
      if (strays.size() < most_at_once) strays.push_back(std::move(name));
    }
    if (page.next == first_sequence_page || strays.size() == most_at_once) {
      is_second_look = false;
      missed_before.clear();
      return read_page(window);
    }
    go_on(pace.between_pages, [this, next = page.next] { read_strays(next); });
  });
}

void SequenceWatch::State::read_page(std::string cursor) {
  run(sequence_page(cursor), [this](ReplyView reply) {
    SequencePage page = read_sequence_page(reply);
    for (SequenceState& sequence : page.sequences) {
      const bool is_old = redis_now() - sequence.since >= pace.held_for;
      if (sequence.waiting > 0 && is_old && missed.size() < most_at_once) missed.push_back(std::move(sequence));
    }
    next_window = page.next;
    if (page.next != first_sequence_page && missed.size() < most_at_once)
      return go_on(pace.between_pages, [this, cursor = page.next] { read_page(cursor); });
    for (const std::string& name : strays) missed.push_back({.name = name});
    find_in_flight();
  });
}

void SequenceWatch::State::find_in_flight() {
  if (missed.empty()) return pass_on();
  run(held_in_flight(missed), [this](ReplyView reply) {
    const std::vector<std::string> found = read_held_in_flight(reply);
    std::erase_if(missed, [&](const SequenceState& sequence) {
      return std::find(found.begin(), found.end(), sequence.name) != found.end();
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
      // Retries first: most holders are there.
      std::iter_swap(places.begin(), places.begin() + 1);
      search();
    });
  });
}

// Skips a queue that may not be read: its sequences cannot be passed on, which would write to it.
void SequenceWatch::State::search() {
  if (missed.empty() || place == places.size()) return pass_on();
  std::vector<std::string_view> marks;
  for (const SequenceState& sequence : missed)
    marks.push_back(sequence.holder.empty() ? std::string_view(sequence.name) : sequence.holder);
  const auto next_place = [this] {
    ++place;
    position = 0;
    search();
  };
  run_or(
      marked_jobs(places[place], position, marks),
      [this, next_place](ReplyView reply) {
        const MarkedJobs page = read_marked_jobs(reply);
        for (const MarkedJob& job : page.jobs) note_found(job.payload);
        position += page.looked_at;
        if (page.looked_at == 0) return next_place();
        go_on(pace.between_pages, [this] { search(); });
      },
      [this, next_place](const std::string& why) {
        report_refusal(places[place].name(), why);
        go_on(pace.between_pages, next_place);
      });
}

void SequenceWatch::State::note_found(std::string_view payload) {
  std::erase_if(missed, [&](const SequenceState& sequence) { return is_holder(sequence, payload); });
}

void SequenceWatch::State::report_refusal(const std::string& key, const std::string& why) {
  if (reported.size() >= most_at_once || !reported.insert(key).second) return;
  log::warn("sequences_not_passed_on",
            {{"key", key},
             {"reason", why},
             {"hint", "allow the user of Redis to read and write the keys ~" + key +
                          " (+@read +@write): jobs of sequences may wait there for jobs that were deleted elsewhere"}});
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
                  [this, name = sequence.name, jid = sequence.holder](const std::vector<Result>& results) {
                    const Result& answer = results.front();
                    if (!answer.ok()) return;
                    const PassedOn passed = read_passed_on(answer.reply.view());
                    if (!passed.refused_key.empty()) return report_refusal(passed.refused_key, passed.why);
                    if (!passed.is_done) return;
                    log::warn(
                        "sequence_passed_on",
                        {{"sequence", name},
                         {"jid", jid},
                         {"reason", jid.empty() ? "its holder was not known: its field of brood:sequences was deleted"
                                                : "this job held it and exists no more"}});
                  });
  }
  if (is_second_look) {
    window = next_window;
    strays.clear();
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
  state_->reported.clear();
  state_->rest();
}

void SequenceWatch::stop() {
  state_->is_stopped = true;
  state_->next.stop();
}

}  // namespace brood
