#pragma once

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <brood/chain.hpp>
#include <brood/context.hpp>
#include <brood/detail/members.hpp>

// Middleware around the jobs of a worker: see Setup::server_middleware().  Middleware around pushes is in
// <brood/client.hpp>.
#pragma GCC visibility push(hidden)
namespace brood {

// One run of a job.  Middleware may change it for the rest of the chain and the job.  The job in Redis does not change:
// a retry runs with the payload that was fetched.  A Run is valid until the middleware returns.
class Run {
 public:
  // The library's code makes one for each run.
  explicit Run(const abi::Call& call) : call_(&call), context_(call) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // The attempt as it was fetched: see Context.
  Context& context() { return context_; }
  const Context& context() const { return context_; }
  std::string_view jid() const { return context_.jid(); }          // cannot be changed
  std::string_view queue() const { return context_.queue(); }      // the queue that it was fetched from
  std::string_view capsule() const { return context_.capsule(); }  // that of the worker

  // The class that runs, its arguments as a JSON array, and the whole payload, each with the changes made so far.
  std::string_view job_class() const { return changed() ? std::string_view(job_class_) : context_.job_class(); }
  std::string_view args() const { return changed() ? std::string_view(*members_->find("args")) : fetched_args(); }
  std::string payload() const { return changed() ? members_->text() : std::string(context_.payload()); }

  // Returns the JSON text of a member of the payload; nullopt if it has no such member.
  std::optional<std::string> member(std::string_view name) const {
    const std::string* json = members().find(name);
    return json == nullptr ? std::nullopt : std::optional(*json);
  }

  // Changes the payload for the code inside: the payload in the job's Context, and with "class" and "args" the class
  // and the arguments that run.  Another class must belong to the libraries that this middleware serves; its own
  // timeout and options do not count.  Throws std::invalid_argument if `json` is not valid JSON, for a class that is
  // not a string, and for args that are not an array.
  void set_member(std::string_view name, std::string json) {
    detail::check_json(json, 1);
    if (name == "class" && (json.front() != '"' || json.size() < 3))
      throw std::invalid_argument("class is no string, or an empty one: " + json);
    if (name == "args" && json.front() != '[') throw std::invalid_argument("args is no array: " + json);
    members().set(name, json);
    note_change();
  }
  void set_args(std::string json) { set_member("args", std::move(json)); }                  // a JSON array
  void set_job_class(std::string_view name) { set_member("class", detail::quoted(name)); }  // the plain name, not JSON
  // Removes a member, if the payload has it.  Throws std::invalid_argument for "class" and "args".
  void remove_member(std::string_view name) {
    if (name == "class" || name == "args") throw std::invalid_argument("a job has a class and args");
    members().remove(name);
    note_change();
  }

  bool changed() const { return changed_; }  // whether a member was set or removed

 private:
  std::string_view fetched_args() const {
    return {call_->args.data == nullptr ? "" : call_->args.data, call_->args.size};
  }
  detail::Members& members() const {
    if (members_) return *members_;
    members_.emplace(context_.payload());
    // The payload of an encrypted job is as Redis has it, but call_->args are in clear.
    if (members_->find("encrypt") != nullptr) members_->set("args", std::string(fetched_args()));
    // The payload of an Active Job has a wrapper class; the class that runs and its arguments are within its args.
    const std::string* const stored = members_->find("class");
    if (stored != nullptr && *stored != detail::quoted(context_.job_class())) {
      members_->set("class", detail::quoted(context_.job_class()));
      members_->set("args", std::string(fetched_args()));
    }
    return *members_;
  }
  void note_change() {
    job_class_ = detail::unquoted(*members().find("class"));
    changed_ = true;
  }

  const abi::Call* call_;
  Context context_;
  mutable std::optional<detail::Members> members_;  // read at the first use
  std::string job_class_;                           // set when changed_ is true
  bool changed_ = false;
};

// The capsules in which a middleware runs: `{.capsules = {"images"}}`.  Empty: all.
struct InCapsules {
  std::vector<std::string> capsules = {};  // their names, as in the configuration

  // Returns whether the run's worker belongs to one of them.
  bool takes_in(const Run& run) const {
    return capsules.empty() || std::find(capsules.begin(), capsules.end(), run.capsule()) != capsules.end();
  }
};

// The chain around the runs of a library's jobs.
using ServerMiddleware = Chain<Run, InCapsules>;

}  // namespace brood
#pragma GCC visibility pop
