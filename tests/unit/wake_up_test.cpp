// The wake-up of an idle worker, in every order of its steps: see worker/worker.cpp, worker/fetching/queue_choice.hpp,
// supervisor/queues/worker_unblocker.hpp and WorkerOrders::note_queues_changed().  A capsule has the queues "one" and
// "two"; another process pauses "one", or resumes it, while a worker of the capsule starts, looks, fetches and waits.
#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

// The rules of which each is needed.
struct Rules {
  bool all_are_told = true;         // also those whose ready byte was not read yet
  bool wait_is_of_its_draw = true;  // no second look between the draw that chose the wait and the wait itself
  bool drawn_anew_for_a_new_incarnation = true;  // since the supervisor may take long to give it
  bool knowledge_ages = true;                    // a wait that brought nothing ends in a look

  bool fetches_are_judged = true;  // and not only where it waits
};

enum class At : std::uint8_t {
  starts,         // before its ready byte
  begins,         // a round: it looks, unless it knows
  looks,          // it has read the counter, and asks Redis
  fetches,        // its queue to wait on is chosen
  asks,           // for an incarnation, and waits for it
  draws_again,    // of the other queues
  looks_again,    // as `looks`, with the queue to wait on chosen before
  says_it_waits,  // its client id
  checks,         // whether it has been woken
  sends_wait,
  waits,  // in Redis
  unblock,
};

enum class Telling : std::uint8_t { nobody, counts, sends_byte, reads_client };

struct State {
  // Redis
  bool paused = false;
  bool unblock_is_under_way = false;
  // The supervisor, which has one thread and may be slow
  bool ready_byte = false, has_read_ready_byte = false;
  bool asked_for_incarnation = false;
  bool looking = false, answer = false;  // an answer that it has not read yet
  bool knows = false, known = false;
  Telling telling = Telling::nobody;
  bool for_incarnation = false;  // the news: an incarnation, else a pause
  std::uint8_t counter = 0;
  // The worker
  At at = At::starts;
  bool byte = false;  // in its pipe
  bool looked = false, believes_paused = false, old = false;
  std::uint8_t seen = 0, being_seen = 0;
  bool waits_on_one = false;
  bool says_it_waits = false, woken = false;
  bool has_incarnation = true, assigned = false;
  // Events that may still happen
  std::uint8_t changes_left = 3, losses_left = 2;
  bool nobody_saw = false;   // a change and its undoing between two looks of the supervisor
  bool time_passed = false;  // the longest wait, since the last change

  auto operator<=>(const State&) const = default;
};

struct Step {
  std::string what;
  State next;
};

class Explorer {
 public:
  explicit Explorer(Rules rules) : rules_(rules) {}

  // The shortest story that ends badly; empty: none does.
  std::string find_bad_story() {
    std::deque<State> to_do{State{}};
    came_from_[State{}] = {};
    while (!to_do.empty()) {
      const State state = to_do.front();
      to_do.pop_front();
      std::vector<Step> steps = steps_from(state);
      if (!bad_.empty()) return story_of(state) + bad_;
      if (steps.empty()) {
        bad_ = judge_rest(state);
        if (!bad_.empty()) return story_of(state) + bad_;
        if (!state.time_passed) steps.push_back(pass_time(state));
      }
      for (Step& step : steps) {
        if (!came_from_.try_emplace(step.next, std::pair(state, step.what)).second) continue;
        to_do.push_back(step.next);
      }
    }
    return "";
  }
  std::size_t states() const { return came_from_.size(); }

 private:
  // Nothing goes on by itself: the worker waits in Redis, and no process is about to wake it.
  static std::string judge_rest(const State& state) {
    if (state.at != At::waits) return "it is stuck";
    // A change that no look of the supervisor has seen becomes known when the longest wait ends.
    if (state.nobody_saw && !state.time_passed) return "";
    if (state.paused && state.waits_on_one) return "it waits on a paused queue for ever";
    if (!state.paused && state.believes_paused) return "it is deaf to a queue that is no longer paused";
    return "";
  }

  static Step pass_time(State state) {
    state.time_passed = state.old = true;
    state.at = At::unblock;
    return {"the wait ends by itself", state};
  }

  std::vector<Step> steps_from(const State& state) {
    std::vector<Step> steps;
    add_operator(state, steps);
    add_redis(state, steps);
    add_supervisor(state, steps);
    add_worker(state, steps);
    return steps;
  }

  void add_operator(State state, std::vector<Step>& steps) {
    if (state.changes_left == 0) return;
    --state.changes_left;
    state.nobody_saw |= state.knows && state.paused != state.known;
    state.nobody_saw |= state.looking && state.paused != state.answer;
    state.paused = !state.paused;
    state.time_passed = false;
    steps.push_back({state.paused ? "one is paused" : "one is paused no longer", state});
  }

  void add_redis(State state, std::vector<Step>& steps) {
    if (!state.unblock_is_under_way) return;
    if (state.at == At::waits) {
      state.unblock_is_under_way = false;
      state.at = At::unblock;
      return steps.push_back({"Redis lets it go", state});
    }
    // Asked again every few milliseconds while the worker's flag shows that it waits, and given up after a while.
    state.unblock_is_under_way = false;
    steps.push_back({"Redis knows of no wait", state});
  }

  void add_supervisor(const State& state, std::vector<Step>& steps) {
    State next = state;
    switch (state.telling) {
      case Telling::nobody:
        break;
      case Telling::counts:
        ++next.counter;
        next.telling = state.has_read_ready_byte || rules_.all_are_told ? Telling::sends_byte : Telling::nobody;
        return steps.push_back({"supervisor: counts the change", next});
      case Telling::sends_byte:
        next.byte = true;
        next.telling = Telling::reads_client;
        return steps.push_back({"supervisor: sends a byte", next});
      case Telling::reads_client:
        next.unblock_is_under_way |= state.says_it_waits;
        next.telling = Telling::nobody;
        return steps.push_back({"supervisor: has Redis let go of whoever says that it waits", next});
    }
    if (state.ready_byte) {
      next = state;
      next.ready_byte = false;
      next.has_read_ready_byte = true;
      steps.push_back({"supervisor: reads the ready byte", next});
    }
    if (state.asked_for_incarnation) {
      next = state;
      next.asked_for_incarnation = false;
      next.assigned = true;
      next.telling = Telling::sends_byte;
      steps.push_back({"supervisor: assigns an incarnation", next});
    }
    if (!state.looking && (!state.knows || state.known != state.paused)) {
      next = state;
      next.looking = true;
      next.answer = state.paused;
      steps.push_back({"supervisor: looks", next});
    }
    if (state.looking) {
      next = state;
      next.looking = false;
      next.knows = true;
      next.known = state.answer;
      if (!state.knows || state.known != state.answer) next.telling = Telling::counts;
      steps.push_back({"supervisor: reads the answer", next});
    }
  }

  void add_worker(const State& state, std::vector<Step>& steps) {
    State next = state;
    const bool stale = state.counter != state.seen;
    const auto add = [&](const char* what) { steps.push_back({std::string("worker: ") + what, next}); };
    const auto look = [&] {
      next.believes_paused = state.paused;
      next.seen = state.being_seen;
      next.looked = true;
      next.old = false;
    };
    switch (state.at) {
      case At::starts:
        next.ready_byte = true;
        next.at = At::begins;
        return add("is ready");
      case At::begins:
        if (!state.looked || stale || state.old) {
          next.being_seen = state.counter;
          next.at = At::looks;
          return add("reads the counter");
        }
        next.waits_on_one = !state.believes_paused;
        next.at = At::fetches;
        return add("draws");
      case At::looks:
        look();
        next.waits_on_one = !next.believes_paused;
        next.at = At::fetches;
        return add("looks and draws");
      case At::fetches:
        if (!state.has_incarnation) {
          next.asked_for_incarnation = true;
          next.at = At::asks;
          return add("asks for an incarnation");
        }
        if (state.losses_left > 0) {
          --next.losses_left;
          next.has_incarnation = false;
          add("is fenced");
          next = state;
        }
        next.at = At::draws_again;
        return add("fetches nothing");
      case At::asks:
        if (state.assigned) {
          next.assigned = false;
          next.has_incarnation = true;
          next.at = At::draws_again;
          if (stale && rules_.drawn_anew_for_a_new_incarnation) {
            next.at = At::begins;
          } else if (stale && state.known && state.paused && state.waits_on_one && state.telling == Telling::nobody &&
                     rules_.fetches_are_judged) {
            bad_ = "it fetches from a queue of whose pause it was told";
          }
          add("has an incarnation and fetches nothing");
          next = state;
        }
        if (!state.byte) return;
        next.byte = false;
        return add("reads its pipe");
      case At::draws_again:
        next.at = At::says_it_waits;
        if (stale && !rules_.wait_is_of_its_draw) {
          next.being_seen = state.counter;
          next.at = At::looks_again;
        }
        return add("draws the other queues");
      case At::looks_again:
        look();
        next.at = At::says_it_waits;
        return add("looks again");
      case At::says_it_waits:
        next.says_it_waits = true;
        next.at = At::checks;
        return add("says that it waits");
      case At::checks:
        next.at = At::sends_wait;
        if (state.byte || stale) {
          next.byte = next.says_it_waits = false;
          next.at = At::begins;
        }
        return add("reads its pipe and the counter");
      case At::sends_wait:
        next.woken = false;
        next.at = At::waits;
        return add("waits in Redis");
      case At::waits:
        if (state.byte) {
          next.byte = false;
          next.woken = true;
          return add("is woken");
        }
        if (!state.woken) return;
        // No reply came within its patience: it drops its connection, and with it its incarnation.
        next.woken = next.says_it_waits = next.has_incarnation = false;
        next.at = At::begins;
        return add("gives its wait up");
      case At::unblock:
        next.woken = next.says_it_waits = false;
        next.at = state.woken || (state.old && rules_.knowledge_ages) ? At::begins : At::says_it_waits;
        return add("is let go");
    }
  }

  std::string story_of(State state) const {
    std::string story;
    for (;;) {
      const auto& [before, what] = came_from_.at(state);
      if (what.empty()) return "\n" + story;
      story = what + "\n" + story;
      state = before;
    }
  }

  const Rules rules_;
  std::map<State, std::pair<State, std::string>> came_from_;
  std::string bad_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(in_every_order_a_worker_waits_on_no_paused_queue_and_hears_of_every_other) {
  Explorer explorer({});
  BOOST_TEST(explorer.find_bad_story() == "");
  BOOST_TEST_MESSAGE(explorer.states() << " states");
  BOOST_TEST(explorer.states() > 10'000U);
}

BOOST_AUTO_TEST_CASE(one_whose_ready_byte_was_not_read_would_wait_on_a_paused_queue_if_it_were_not_told) {
  const std::string story = Explorer({.all_are_told = false}).find_bad_story();
  BOOST_TEST_MESSAGE(story);
  BOOST_TEST(story.ends_with("it waits on a paused queue for ever"));
}

BOOST_AUTO_TEST_CASE(one_that_looks_again_with_its_wait_chosen_would_wait_on_a_paused_queue) {
  const std::string story =
      Explorer({.wait_is_of_its_draw = false, .drawn_anew_for_a_new_incarnation = false, .fetches_are_judged = false})
          .find_bad_story();
  BOOST_TEST_MESSAGE(story);
  BOOST_TEST(story.ends_with("it waits on a paused queue for ever"));
}

BOOST_AUTO_TEST_CASE(one_that_waited_for_an_incarnation_would_fetch_from_a_paused_queue_if_it_did_not_draw_anew) {
  const std::string story = Explorer({.drawn_anew_for_a_new_incarnation = false}).find_bad_story();
  BOOST_TEST_MESSAGE(story);
  BOOST_TEST(story.ends_with("it fetches from a queue of whose pause it was told"));
}

BOOST_AUTO_TEST_CASE(one_that_looked_between_two_looks_of_its_supervisor_would_stay_wrong_if_knowledge_did_not_age) {
  const std::string story = Explorer({.knowledge_ages = false}).find_bad_story();
  BOOST_TEST_MESSAGE(story);
  BOOST_TEST(!story.empty());
}
