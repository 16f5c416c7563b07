#include "supervisor/operators.hpp"

#include <boost/test/unit_test.hpp>
#include <stdexcept>

#include "tests/support/loaded_config.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace brood;

namespace {

// All that operators ask, without a worker and a Redis.  No program for another number of workers can be made.
struct Parts {
  TemporaryDirectory directory;
  const Identity identity = Identity::of_this_process();
  const std::optional<Handover> left;
  EventLoop loop;
  Children children{loop, [] {}};
  Shards shards;
  int programs_asked = 0;
  Fleet fleet{{.loop = loop,
               .children = children,
               .identity = identity,
               .first = std::make_shared<const Generation>(
                   Generation{1, std::make_shared<const Config>(loaded_config::load("")), nullptr}),
               .program_of = [this](std::shared_ptr<const Config>) -> std::shared_ptr<ChildProgram> {
                 ++programs_asked;
                 throw std::runtime_error("no more of them");
               },
               .config_source = {},
               .shards = shards,
               .runtime_directory = directory.path(),
               .instance = "",
               .left = left}};
  OwnProcesses own{loop, fleet.pool, children};
  OperatorSignals signals{loop, own};
  Phases phases{loop, identity.name, fleet.pool, shards, false};
  Successor successor{{"brood"}};
  Upgrade upgrade{children, successor, [] { return ConfigFile(); }, [] { return Handover(); }, ""};
  ProcessFacts facts;
  Operators operators{{.loop = loop,
                       .identity = identity,
                       .signals = signals,
                       .own = own,
                       .fleet = fleet,
                       .shards = shards,
                       .phases = phases,
                       .upgrade = upgrade,
                       .facts = facts}};
};

}  // namespace

// Every client of Redis may write them.
BOOST_AUTO_TEST_CASE(an_order_from_redis_that_fails_does_not_end_the_supervisor) {
  Parts all;
  for (int asked = 1; asked <= 2; ++asked) {
    BOOST_CHECK_NO_THROW(all.operators.obey_redis(R"(brood ["scale","2","default"])"));
    BOOST_TEST(all.programs_asked == asked);
  }
  all.operators.obey_redis("TSTP");
  BOOST_CHECK(all.phases.now() == Phase::quiet);
  all.operators.obey_redis(R"(brood ["resume"])");
  BOOST_CHECK(all.phases.now() == Phase::running);
}

BOOST_AUTO_TEST_CASE(what_is_no_order_does_nothing) {
  Parts all;
  for (const char* const text : {"", "HUP", "brood", "brood []", R"(brood ["stop"])", R"(brood ["scale","x"])"})
    BOOST_CHECK_NO_THROW(all.operators.obey_redis(text));
  BOOST_TEST(all.programs_asked == 0);
  BOOST_CHECK(all.phases.now() == Phase::running);
}
