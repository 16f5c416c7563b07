#include "tests/support/ledger.hpp"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

namespace brood {

namespace {

// Whether one of the two was still running when the other began.  Of a run that was cut off only the beginning is
// known.
bool overlap(const Ledger::Run& one, const Ledger::Run& other) {
  const auto covers = [](const Ledger::Run& run, std::int64_t time) {
    return run.began <= time && run.ended && time < *run.ended;
  };
  return covers(one, other.began) || covers(other, one.began);
}

}  // namespace

std::vector<Ledger::Run> Ledger::runs() const {
  std::vector<Run> runs;
  std::map<std::pair<std::string, pid_t>, std::size_t> open;  // a process runs one job at a time
  std::ifstream stream(path_);
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line);
    std::string kind;
    Run run;
    words >> kind >> run.id >> run.pid;
    if (kind == "S") {
      words >> run.worker_began >> run.began;
      open[{run.id, run.pid}] = runs.size();
      runs.push_back(run);
    } else if (const auto begun = open.find({run.id, run.pid}); kind == "D" && begun != open.end()) {
      words >> runs[begun->second].ended.emplace();
      open.erase(begun);
    }
  }
  return runs;
}

bool Ledger::is_whole() const {
  std::ifstream stream(path_);
  for (std::string line; std::getline(stream, line);) {
    if (line.size() % 64 != 63 || (!line.starts_with("S ") && !line.starts_with("D "))) return false;
  }
  return true;
}

std::map<std::string, int> Ledger::begun() const {
  std::map<std::string, int> counts;
  for (const Run& run : runs()) ++counts[run.id];
  return counts;
}

std::map<std::string, int> Ledger::done() const {
  std::map<std::string, int> counts;
  for (const Run& run : runs()) {
    if (run.ended) ++counts[run.id];
  }
  return counts;
}

void Ledger::read_on() const {
  std::ifstream stream(path_);
  stream.seekg(read_);
  for (std::string line; std::getline(stream, line) && !stream.eof();) {  // the last may be unfinished
    begins_ += line.starts_with('S');
    ends_ += line.starts_with('D');
    read_ += static_cast<std::streamoff>(line.size()) + 1;
  }
}

std::size_t Ledger::begins() const {
  read_on();
  return begins_;
}

bool Ledger::has_done(std::size_t jobs) const {
  read_on();
  return ends_ >= jobs && done().size() >= jobs;
}

Ledger::Verdict Ledger::judge(int count) const {
  std::map<std::string, std::vector<Run>> by_id;
  for (Run& run : runs()) by_id[run.id].push_back(run);

  Verdict verdict;
  std::set<std::string> expected;
  for (int id = 0; id < count; ++id) expected.insert(std::to_string(id));
  for (const std::string& id : expected) {
    const auto found = by_id.find(id);
    if (found == by_id.end() || std::none_of(found->second.begin(), found->second.end(),
                                             [](const Run& run) { return run.ended.has_value(); })) {
      verdict.lost.push_back(id);
    }
  }
  for (const auto& [id, runs] : by_id) {
    if (!expected.contains(id)) verdict.unexpected.push_back(id);
    if (std::count_if(runs.begin(), runs.end(), [](const Run& run) { return run.ended.has_value(); }) > 1)
      verdict.doubled.push_back(id);
    for (std::size_t i = 1; i < runs.size(); ++i) {
      if (std::any_of(runs.begin(), runs.begin() + static_cast<std::ptrdiff_t>(i),
                      [&run = runs[i]](const Run& earlier) { return overlap(earlier, run); })) {
        verdict.overlapped.push_back(id);
        break;
      }
    }
  }
  return verdict;
}

}  // namespace brood
