#include <brood/batch.hpp>

#include <stdexcept>

#include "shared/api/batches/batch_handle.hpp"
#include "shared/api/push/spread.hpp"
#include "shared/job/batch_membership.hpp"

namespace brood {
namespace {

constexpr std::size_t bytes_of_slice = 1 << 20;

// Where jobs need a client and none is given.  Never destroyed: threads may use it while the process ends.
Client& client_of_process() {
  static Client& client = *new Client();
  return client;
}

}  // namespace

struct Batch::State {
  BatchHandle handle;
};

struct BatchJobs::State {
  explicit State(BatchHandle& its_batch) : batch(its_batch), push(its_batch.begin_push()) {}

  // Sends what was gathered.
  void flush() {
    std::vector<ClientPush> slice = std::exchange(gathered, {});
    bytes = 0;
    if (!slice.empty()) batch.sender().push(push, slices, std::move(slice));
  }

  BatchHandle& batch;
  BatchPush push;
  std::uint64_t slices = 0;  // that were sent
  std::vector<ClientPush> gathered = {};
  std::size_t bytes = 0;
  bool has_finished = false;
};

std::string BatchJobs::push(Push job) {
  std::optional<ClientPush> prepared = state_->batch.sender().prepare(std::move(job));
  if (!prepared) return "";
  std::string jid = prepared->jid;
  state_->bytes += prepared->payload.size();
  state_->gathered.push_back(*std::move(prepared));
  if (state_->gathered.size() == max_jobs_pushed_to_batch || state_->bytes > bytes_of_slice) state_->flush();
  return jid;
}

std::string BatchJobs::push(Push job, std::optional<std::chrono::milliseconds> spread) {
  RandomBytes random;
  if (spread) spread_out(job, *spread, state_->batch.sender().now(), random);
  return push(std::move(job));
}

std::string BatchJobs::push_in(double seconds, Push job) {
  if (!(seconds < 1e9))
    throw std::invalid_argument("a delay is less than 1,000,000,000 seconds; enqueue_at takes a time");
  if (seconds > 0)
    job.at = std::chrono::system_clock::time_point(std::chrono::duration_cast<std::chrono::system_clock::duration>(
        std::chrono::duration<double>(epoch_seconds(state_->batch.sender().now()) + seconds)));
  return push(std::move(job));
}

Batch::Batch(Client& client, const BatchOptions& options, std::string_view payload_of_job)
    : state_(new State{BatchHandle(client, options.description, options.parent, payload_of_job)}) {}

Batch::Batch(std::unique_ptr<State> state) : state_(std::move(state)) {}

std::optional<Batch> Batch::current(std::string_view payload, Client* client) {
  const auto job = batch_named_by(payload);
  if (!job || job->bid.empty()) return std::nullopt;
  Client& its_client = client != nullptr ? *client : client_of_process();
  return Batch(std::unique_ptr<State>(new State{BatchHandle(its_client, job->bid)}));
}

Batch::~Batch() = default;
Batch::Batch(Batch&&) noexcept = default;
Batch& Batch::operator=(Batch&&) noexcept = default;

const std::string& Batch::bid() const { return state_->handle.bid(); }

void Batch::on(BatchEvent event, const Push& job) { state_->handle.on(event, job); }

void Batch::cancel() { state_->handle.cancel(); }

Batch::Pushing::Pushing(Batch& batch) : jobs_(std::make_unique<BatchJobs::State>(batch.state_->handle)) {}

// Leaves without finish() when the user's function, or a push, has thrown.
Batch::Pushing::~Pushing() {
  if (!jobs_->has_finished) jobs_->batch.abandon_push(jobs_->push);
}

BatchJobs Batch::Pushing::jobs() { return BatchJobs(*jobs_); }

void Batch::Pushing::finish() {
  jobs_->flush();
  jobs_->batch.end_push(jobs_->push);
  jobs_->has_finished = true;
}

}  // namespace brood
