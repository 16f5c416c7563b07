// Jobs with an encrypted argument, which record what they receive.
#include <unistd.h>

#include <brood/client.hpp>
#include <brood/job.hpp>
#include <csignal>
#include <fstream>
#include <stdexcept>
#include <string>

namespace {

void tell(const std::string& path, const std::string& line) { std::ofstream(path, std::ios::app) << line << std::endl; }

}  // namespace

struct Card {
  std::string number;
  int cvc = 0;
};

struct Charge {
  static constexpr brood::JobOptions options{.encrypt = true};
  std::string path;
  std::string what;  // to do
  Card card;

  void perform(brood::Context& job) {
    const bool in_payload = job.payload().find(card.number) != std::string_view::npos;
    tell(path, what + " " + card.number + " " + std::to_string(card.cvc) + (in_payload ? " told" : ""));
    if (what == "fail") throw std::runtime_error("no money");
    if (what == "crash") raise(SIGSEGV);
    while (what == "hang") pause();
    if (what == "pass on") brood::Client{}.enqueue(Charge{path, "passed on", card});
  }
  // Called on the job itself, which is built from its arguments again.
  brood::RetryDecision retry_in(int, const std::exception&) {
    tell(path, "retry " + card.number);
    return brood::usual_delay;
  }
  void exhausted(const brood::JobInfo& job, const std::exception&) const {
    tell(path, "exhausted by " + std::string(job.error_class) + " " + card.number);
  }
};

struct ChargeApart {
  static constexpr brood::JobOptions options{.isolation = brood::Isolation::process, .encrypt = true};
  std::string path;
  std::string what;
  Card card;

  void perform() {
    tell(path, what + " " + card.number);
    if (what == "fail") throw std::runtime_error("no money");
  }
};

void brood_setup(brood::Setup& setup) {
  // Changes the payload.  This must not bring back what Redis holds.
  setup.server_middleware().add("mark", [](brood::Run& run, const brood::Next& next) {
    if (run.member("marked")) run.set_member("seen", "1");
    next();
  });
  setup.on_death([](const brood::JobInfo& job, const std::exception& error) {
    const std::string payload(job.payload);
    const std::string begin = "\"args\":[\"";
    const std::size_t at = payload.find(begin) + begin.size();
    const std::string path = payload.substr(at, payload.find('"', at) - at);
    tell(path, std::string("death ") + error.what() + (payload.find("4111") != payload.npos ? " told" : ""));
  });
}

BROOD_JOBS(Charge, ChargeApart)
