#include "worker/isolation/run_in_process.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "shared/job/batch_membership.hpp"

namespace brood {
namespace {

constexpr std::size_t heard_at_once = 64 << 10;

// The worker's side of the conversation with one job's process, which may stop reading or writing at any time.
class Conversation {
 public:
  Conversation(UniqueFd socket, const JobOrder& order, const Payload& job, JobServices& services)
      : socket_(std::move(socket)),
        job_(job),
        queue_(order.queue),
        services_(services),
        reader_(MessageReader::of_job(order.payload.size() + longest_end_beside_payload)),
        unsent_(framed(MessageKind::order, encode(order))) {}

  pollfd waits_for() const {
    const short events = static_cast<short>(POLLIN | (unsent_.empty() ? 0 : POLLOUT));
    return {over_ ? -1 : socket_.get(), events, 0};
  }

  // Throws BadMessage.
  void go_on() {
    send_more();
    while (receive_more()) {
      while (const std::optional<Message> message = reader_.next()) heed(*message);
    }
    send_more();
  }

  std::optional<JobEnd> take_end() { return std::move(end_); }

 private:
  void send_more() {
    while (!unsent_.empty()) {
      const ssize_t sent = ::send(socket_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent <= 0) {
        if (sent < 0 && errno != EAGAIN && errno != EINTR) unsent_.clear();  // the process does not read any more
        return;
      }
      unsent_.erase(0, static_cast<std::size_t>(sent));
    }
  }

  bool receive_more() {
    static char buffer[heard_at_once];
    const ssize_t got = ::recv(socket_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    over_ = got <= 0;
    if (over_) return false;
    if (end_) throw BadMessage("it goes on after the end");
    reader_.add({buffer, static_cast<std::size_t>(got)});
    return true;
  }

  void heed(const Message& message) {
    if (end_) throw BadMessage("it goes on after the end");
    // brood's own code waits for each answer.  A process that asks again without reading would make the worker store
    // all the answers.
    if (!unsent_.empty()) throw BadMessage("it does not read what it asks for");
    switch (message.kind) {
      case MessageKind::load_iteration:
        return answer(message.kind, encode(load_iteration()));
      case MessageKind::save_iteration:
        return answer(message.kind, encode_cancelled(services_.save_iteration(read_saved(message.body))));
      case MessageKind::ask_failure_rule:
        return answer(message.kind, encode(services_.failure_rule()));
      case MessageKind::take_limits:
        return answer(message.kind,
                      encode(services_.take_limits(read_wanted_limits(message.body), [this] { return hears(); })));
      case MessageKind::give_back_limits:
        services_.give_back_limits(read_limit_uses(message.body));
        return answer(message.kind, "");
      case MessageKind::ask_step_result: {
        const auto batch = batch_named_by(job_);
        const auto json = batch ? services_.step_result(batch->bid, message.body) : std::nullopt;
        return answer(message.kind, json.value_or(""));
      }
      case MessageKind::ask_batch_cancelled: {
        const auto batch = batch_named_by(job_);
        return answer(message.kind, encode_cancelled(batch && services_.batch_cancelled(batch->bid)));
      }
      case MessageKind::note_progress:
        services_.note_progress(read_job_progress(message.body));
        return answer(message.kind, "");
      case MessageKind::end:
        end_ = read_end(message.body, job_, queue_);
        return;
      case MessageKind::order:
        break;
    }
    throw BadMessage("it is of a kind that only a worker says");
  }

  LoadedIteration load_iteration() {
    LoadedIteration loaded;
    try {
      std::optional<IterationState> state = services_.load_iteration();
      loaded.kind = state ? LoadedIteration::Kind::loaded : LoadedIteration::Kind::away;
      if (state) loaded.state = std::move(*state);
    } catch (const UnexpectedReply& none) {
      loaded.kind = LoadedIteration::Kind::none;
      loaded.why = none.what();
    }
    return loaded;
  }

  // Whether the process still waits for an answer.  Meanwhile it sends nothing: if there is something to read, it has
  // ended.
  bool hears() const {
    char any;
    const ssize_t got = ::recv(socket_.get(), &any, 1, MSG_PEEK | MSG_DONTWAIT);
    return got < 0 && (errno == EAGAIN || errno == EINTR);
  }

  void answer(MessageKind kind, const std::string& body) { unsent_ = framed(kind, body); }

  UniqueFd socket_;
  const Payload& job_;
  const std::string& queue_;
  JobServices& services_;
  MessageReader reader_;
  std::string unsent_;
  std::optional<JobEnd> end_;
  bool over_ = false;
};

ProcessRun no_process(int error) {
  ProcessRun run;
  run.end.fork_error = error;
  return run;
}

}  // namespace

ProcessRun run_in_process(JobForker& forker, const JobOrder& order, const Payload& job, JobServices& services,
                          const std::function<bool()>& term_came) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return no_process(errno);
  Conversation conversation(UniqueFd(ends[0]), order, job, services);
  if (const int error = forker.start(UniqueFd(ends[1]))) return no_process(error);
  if (term_came()) forker.signal(SIGTERM);  // TERM came before the handler could pass it on
  ProcessRun run;
  const auto go_on = [&] {
    try {
      if (run.bad.empty()) conversation.go_on();
    } catch (const BadMessage& bad) {
      run.bad = bad.what();
      forker.signal(SIGKILL);
    }
  };
  for (bool ended = false; !ended;) {
    pollfd waits[] = {conversation.waits_for(), {forker.descriptor(), POLLIN, 0}};
    if (!run.bad.empty()) waits[0].fd = -1;
    if (poll(waits, 2, -1) < 0) continue;
    if (waits[0].revents != 0) go_on();
    if (waits[1].revents == 0) continue;
    if (const std::optional<JobForker::End> end = forker.take_end()) {
      run.end = *end;
      ended = true;
    }
  }
  go_on();  // reads the last messages
  run.said = conversation.take_end();
  if (!run.bad.empty()) run.said.reset();
  return run;
}

}  // namespace brood
