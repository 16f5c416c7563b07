#include <brood/batch.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>

#include "shared/api/batches/batch_sender.hpp"
#include "shared/api/opening.hpp"
#include "shared/base/base64.hpp"
#include "shared/base/redis_clock.hpp"
#include "shared/job/batch_membership.hpp"
#include "shared/job/payload.hpp"
#include "shared/job/random_bytes.hpp"

namespace brood {
namespace {

constexpr std::size_t longest_description = 1'000;
constexpr std::size_t bytes_of_slice = 1 << 20;

const char* name_of(BatchEvent event) {
  switch (event) {
    case BatchEvent::complete:
      return "complete";
    case BatchEvent::success:
      return "success";
    case BatchEvent::death:
      return "death";
    case BatchEvent::finished:
      break;
  }
  return "finished";
}

std::string random_text(std::size_t bytes) {
  std::array<unsigned char, 16> random;
  RandomBytes source;
  std::generate_n(random.begin(), bytes, [&] { return static_cast<unsigned char>(source.fraction() * 256); });
  return base64url_of({reinterpret_cast<const char*>(random.data()), bytes});
}

std::string pusher() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  std::string name(host.data());
  std::replace(name.begin(), name.end(), ' ', '_');
  return (name.empty() ? "?" : name) + " " + std::to_string(getpid()) + " " +
         std::to_string(std::chrono::duration_cast<std::chrono::seconds>(wall_now().time_since_epoch()).count());
}

// The payload of a job, as its library was handed it.
std::optional<BatchMembership> membership(std::string_view payload) {
  return payload.empty() ? std::nullopt : batch_named_by(payload);
}

// Where jobs need a client and none is given.  Never destroyed: threads may use it while the process ends.
Client& client_of_process() {
  static Client& client = *new Client();
  return client;
}

}  // namespace

struct Batch::State {
  State(Client& pushes_by, std::string its_bid) : client(pushes_by), sender(pushes_by), bid(std::move(its_bid)) {}

  Client& client;
  BatchSender sender;
  std::string bid;
  NewBatch made = {};
  bool exists = false;      // in Redis
  bool is_own_job = false;  // the current job is in it, and holds it open by that
  std::map<BatchEvent, std::size_t> callbacks = {};
};

struct BatchJobs::State {
  explicit State(Batch::State& its_batch) : batch(its_batch) {}

  // Sends what was gathered.
  void flush() {
    std::vector<ClientPush> slice = std::exchange(gathered, {});
    bytes = 0;
    if (!slice.empty()) batch.sender.push(push, numbers, std::move(slice));
  }

  Batch::State& batch;
  BatchPush push = {};
  std::uint64_t numbers = 0;  // slices sent
  std::vector<ClientPush> gathered = {};
  std::size_t bytes = 0;
  bool has_finished = false;
};

std::string BatchJobs::push(Push job) {
  std::optional<ClientPush> prepared = state_->batch.sender.prepare(std::move(job));
  if (!prepared) return "";
  std::string jid = prepared->jid;
  state_->bytes += prepared->payload.size();
  state_->gathered.push_back(*std::move(prepared));
  if (state_->gathered.size() == max_jobs_pushed_to_batch || state_->bytes > bytes_of_slice) state_->flush();
  return jid;
}

std::string BatchJobs::push_in(double seconds, Push job) {
  if (!(seconds < 1e9))
    throw std::invalid_argument("a delay is less than 1,000,000,000 seconds; enqueue_at takes a time");
  if (seconds > 0)
    job.at = std::chrono::system_clock::time_point(std::chrono::duration_cast<std::chrono::system_clock::duration>(
        std::chrono::duration<double>(epoch_seconds(state_->batch.sender.now()) + seconds)));
  return push(std::move(job));
}

Batch::Batch(Client& client, const BatchOptions& options, std::string_view payload_of_job)
    : state_(std::make_unique<State>(client, random_text(10))) {
  if (options.description.size() > longest_description)
    throw std::invalid_argument("a batch's description has at most 1,000 bytes");
  if (!options.parent.empty() && !is_bid(options.parent))
    throw std::invalid_argument("the batch's parent is not a bid: 1 to 64 of A-Z a-z 0-9 _ -");
  NewBatch& made = state_->made;
  made.push.bid = state_->bid;
  made.description = options.description;
  made.parent = options.parent;
  if (const auto job = membership(payload_of_job)) {
    const bool is_callback = !job->callback.empty();
    made.made_in = is_callback ? job->callback : job->bid;
    made.made_by = is_callback ? job->jid : std::to_string(job->index);
  }
}

Batch::Batch(std::unique_ptr<State> state) : state_(std::move(state)) {}

std::optional<Batch> Batch::current(std::string_view payload, Client* client) {
  const auto job = membership(payload);
  if (!job || job->bid.empty()) return std::nullopt;
  auto state = std::make_unique<State>(client != nullptr ? *client : client_of_process(), job->bid);
  state->exists = state->is_own_job = true;
  return Batch(std::move(state));
}

Batch::~Batch() = default;
Batch::Batch(Batch&&) noexcept = default;
Batch& Batch::operator=(Batch&&) noexcept = default;

const std::string& Batch::bid() const { return state_->bid; }

void Batch::on(BatchEvent event, const Push& job) {
  if (state_->exists) throw std::logic_error("a batch gets its callbacks before its first push");
  if (job.at) throw std::invalid_argument("a callback is pushed when its event happens, and has no time");
  Push callback = job;
  callback.members.emplace_back("cbid", '"' + state_->bid + '"');
  callback.members.emplace_back("batch_callback", std::string("\"") + name_of(event) + '"');
  const std::size_t number = ++state_->callbacks[event];
  state_->made.callbacks.emplace_back(callback_field(name_of(event), number),
                                      state_->sender.callback(std::move(callback)));
}

void Batch::cancel() {
  if (state_->exists) state_->sender.cancel(state_->bid);
}

Batch::Pushing::Pushing(Batch& batch)
    : jobs_(std::make_unique<BatchJobs::State>(*batch.state_)), batch_(*batch.state_) {
  jobs_->push = {batch_.bid, random_text(9), pusher()};
  if (batch_.is_own_job) {
    batch_.sender.find(batch_.bid);
  } else if (batch_.exists) {
    batch_.sender.reopen(jobs_->push);
  } else {
    batch_.made.push = jobs_->push;
    batch_.sender.open(batch_.made);
    batch_.exists = true;
  }
}

// Leaves without finish() when the user's function, or a push, has thrown.
Batch::Pushing::~Pushing() {
  if (jobs_->has_finished) return;
  try {
    if (batch_.is_own_job)
      batch_.sender.close(jobs_->push, false);
    else
      batch_.sender.cancel(batch_.bid);
  } catch (const std::exception&) {  // the first exception says more
  }
}

BatchJobs Batch::Pushing::jobs() { return BatchJobs(*jobs_); }

void Batch::Pushing::finish() {
  jobs_->flush();
  batch_.sender.close(jobs_->push, !batch_.is_own_job);
  jobs_->has_finished = true;
}

}  // namespace brood
