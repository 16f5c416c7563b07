#include "supervisor/upgrade/upgrade.hpp"

#include <system_error>
#include <utility>

#include "shared/base/log.hpp"
#include "shared/json/json_writer.hpp"
#include "supervisor/upgrade/handover_file.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto longest_wait = 60s;  // for half-done work to end

// The last line is the reason; a library may have printed anything before it.
std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of("\r\n ");
  if (end == std::string::npos) return "";
  const std::size_t newline = text.rfind('\n', end);
  const std::size_t begin = newline == std::string::npos ? 0 : newline + 1;
  return text.substr(begin, end + 1 - begin);
}

std::string failure_json(const char* outcome, const std::string& reason) {
  return JsonWriter().text("outcome", outcome).text("reason", reason).object();
}

}  // namespace

Upgrade::Upgrade(Children& children, const Successor& successor, ReadFile read_file, HandOver hand_over,
                 std::string failed)
    : successor_(successor),
      read_file_(std::move(read_file)),
      hand_over_(std::move(hand_over)),
      check_(children),
      last_failure_(std::move(failed)) {}

void Upgrade::begin(std::optional<ControlSocket::Reply> asked_by) {
  if (under_way()) {
    if (asked_by) asked_by->ok(failure_json("not_now", "an upgrade is under way"));
    return;
  }
  client_ = std::move(asked_by);
  step_ = Step::checking;
  news_.push_back(News::begun);
  log::info("upgrade_begins", {{"program", successor_.path()}});
  told_.forget();
  tell_progress(steady_now());
  try {
    file_ = read_file_();
    Handover handover = with_program_and_config(hand_over_());
    handover.rehearsal = true;
    copy_ = write_handover(handover);
    check_.begin(
        {.title = "brood: check", .keep = {copy_.get()}, .what = "the new program's check"},
        [this](int answer) {
          dup2(answer, STDERR_FILENO);
          return successor_.rehearse(copy_.get());
        },
        [this](const std::string& refusal) { checked(refusal); });
  } catch (const ConfigError& error) {
    fail(Outcome::refused, error.what());
  } catch (const std::system_error& error) {
    fail(Outcome::not_now, error.what());
  }
}

Handover Upgrade::with_program_and_config(Handover handover) const {
  handover.program = successor_.path();
  handover.page = successor_.page();
  if (file_.mode != 0) handover.config = {file_.text, file_.mode};
  return handover;
}

void Upgrade::checked(const std::string& refusal) {
  const bool answered = is_signed(copy_.get());
  copy_.reset();
  if (!refusal.empty()) return fail(Outcome::refused, last_line(refusal));
  // The executed program has not looked at the handover.
  if (!answered)
    return fail(Outcome::refused,
                successor_.path() + " cannot be executed in place of this program: it does not answer as brood does");
  step_ = Step::waiting;
  give_up_at_ = steady_now() + longest_wait;
}

void Upgrade::advance(SteadyTime now, const std::string& half_done) {
  if (step_ == Step::checking) return tell_progress(now);
  if (step_ != Step::waiting) return;
  if (!half_done.empty()) {
    waits_for_ = half_done;
    tell_progress(now);
    if (now >= give_up_at_) fail(Outcome::not_now, "this did not end within a minute: " + half_done);
    return;
  }
  if (client_) client_->progress("handing over");
  log::info("upgrade_takes_over", {{"program", successor_.path()}});
  try {
    fail(Outcome::refused, successor_.take_over(with_program_and_config(hand_over_())));
  } catch (const std::system_error& error) {  // no descriptor is left, for example
    fail(Outcome::not_now, error.what());
  }
}

void Upgrade::tell_progress(SteadyTime now) {
  const std::string sentence = step_ == Step::checking ? "checking " + successor_.path() : "waiting: " + waits_for_;
  if (client_ && told_.is_due(sentence, now)) client_->progress(sentence);
}

bool Upgrade::answer_failure(const ControlSocket::Reply& reply) const {
  if (last_failure_.empty()) return false;
  reply.ok(failure_json("refused", last_failure_));
  return true;
}

void Upgrade::fail(Outcome outcome, const std::string& why) {
  step_ = Step::none;
  waits_for_.clear();
  copy_.reset();
  const char* const name = outcome == Outcome::refused ? "refused" : "not_now";
  last_failure_ = outcome == Outcome::refused ? why : "";
  log::error("upgrade_ended", {{"outcome", name}, {"reason", why}});
  if (const auto client = std::exchange(client_, std::nullopt)) client->ok(failure_json(name, why));
  news_.push_back(News::given_up);
}

void Upgrade::abandon(const std::string& why) {
  if (!under_way()) return;
  check_.abandon();
  fail(Outcome::not_now, why);
}

std::string Upgrade::status() const {
  if (step_ == Step::checking) return "upgrading: " + successor_.path() + " is checked";
  if (step_ == Step::waiting) return "upgrading: waiting: " + waits_for_;
  return last_failure_.empty() ? "" : "the last upgrade was refused: " + last_failure_;
}

}  // namespace brood
