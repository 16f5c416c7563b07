#include "tests/bench/measure.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "shared/check.hpp"

namespace brood {

namespace {

// A child's whole life: take, look, forget.
[[noreturn]] void take_jobs(const std::string& socket, const std::string& queue, const std::string& file) {
  redisContext* const redis = redisConnectUnix(socket.c_str());
  if (!redis || redis->err) _exit(1);
  const int out = file.empty() ? -1 : open(file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  for (;;) {
    auto* const reply = static_cast<redisReply*>(redisCommand(redis, "BRPOP %s 0", queue.c_str()));
    if (!reply || reply->type != REDIS_REPLY_ARRAY) _exit(1);
    if (out >= 0) {
      const char* const args = std::strstr(reply->element[1]->str, "\"args\":[");
      const std::int64_t latency = monotonic_ns() - std::atoll(args + std::strlen("\"args\":["));
      if (write(out, &latency, sizeof latency) != sizeof latency) _exit(1);
    }
    freeReplyObject(reply);
  }
}

}  // namespace

std::int64_t monotonic_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return NAN;
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<std::size_t>(share * static_cast<double>(values.size())))];
}

BrpopWorkers::BrpopWorkers(const std::string& socket, const std::string& queue, int count, const std::string& file) {
  for (int i = 0; i < count; ++i) {
    const pid_t pid = check("fork", fork());
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      take_jobs(socket, "queue:" + queue, file);
    }
    pids_.push_back(pid);
  }
}

BrpopWorkers::~BrpopWorkers() {
  for (const pid_t pid : pids_) kill(pid, SIGKILL);
  for (const pid_t pid : pids_) waitpid(pid, nullptr, 0);
}

std::vector<double> read_latencies(const std::string& file) {
  std::vector<double> microseconds;
  std::ifstream stream(file, std::ios::binary);
  for (std::int64_t latency; stream.read(reinterpret_cast<char*>(&latency), sizeof latency);) {
    microseconds.push_back(static_cast<double>(latency) / 1000);
  }
  return microseconds;
}

double redis_benchmark(const std::string& socket, const std::string& test, long requests, int clients) {
  const std::string command = "redis-benchmark -s " + socket + " -t " + test + " -d 200 -n " +
                              std::to_string(requests) + " -c " + std::to_string(clients) + " --csv 2>/dev/null";
  FILE* const pipe = popen(command.c_str(), "r");
  if (!pipe) throw std::runtime_error("redis-benchmark does not start");
  double rate = 0;
  for (char line[512]; fgets(line, sizeof line, pipe);) {
    char name[64];
    double value = 0;
    if (std::sscanf(line, "\"%63[^\"]\",\"%lf\"", name, &value) == 2) rate = value;
  }
  pclose(pipe);
  if (rate <= 0) throw std::runtime_error("redis-benchmark gave no figure");
  return rate;
}

void Report::add(const std::string& name, double value, const std::string& unit) {
  figures_.push_back({name, value, unit});
}

Report::~Report() {
  if (json_) {
    std::printf("{");
    for (std::size_t i = 0; i < figures_.size(); ++i) {
      std::printf("%s\"%s\":%.6g", i == 0 ? "" : ",", figures_[i].name.c_str(), figures_[i].value);
    }
    std::printf("}\n");
  } else {
    for (const Figure& figure : figures_) {
      std::printf("%-36s %12.*f %s\n", figure.name.c_str(), figure.value < 100 ? 2 : 0, figure.value,
                  figure.unit.c_str());
    }
  }
}

}  // namespace brood
