#pragma once

#include <brood/api.hpp>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace brood {

// Finds jobs by what the user types: a whole id, or a beginning of at least four characters that only one id has.  All
// jobs must be offered; if several jobs have one id, all of them are found.
template <typename Job>
class JidSearch {
 public:
  explicit JidSearch(std::vector<std::string> words) : words_(std::move(words)), found_(words_.size()) {}

  void offer(const Job& job) {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if (job.jid == words_[i])
        add(found_[i].exact, job);
      else if (words_[i].size() >= shortest_beginning && job.jid.starts_with(words_[i]))
        add(found_[i].beginning, job);
    }
  }

  // Throws UsageError for a beginning of several ids, and names them.
  std::vector<Job> jobs() const;
  std::vector<std::string> not_found() const;

 private:
  static constexpr std::size_t shortest_beginning = 4, most_ids = 10;
  using ById = std::map<std::string, std::vector<Job>>;
  struct Found {
    ById exact, beginning;
  };

  // A search within Redis may offer a job twice.  Keeps at most as many matching ids as an error message lists.
  static void add(ById& jobs, const Job& job) {
    if (jobs.size() >= most_ids && !jobs.contains(job.jid)) return;
    std::vector<Job>& same = jobs[job.jid];
    for (const Job& known : same) {
      if (known.payload == job.payload && known.shard == job.shard) return;
    }
    same.push_back(job);
  }

  std::vector<std::string> words_;
  std::vector<Found> found_;
};

extern template class JidSearch<JobRecord>;
extern template class JidSearch<SetEntry>;

}  // namespace brood
