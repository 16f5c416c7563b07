#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/support/redis_server.hpp"

namespace brood {

// A payload as Sidekiq's client writes it.  `args` is a JSON array; `more` is further members, such as `"retry":3`,
// which override the defaults; the jid is the 24 digits of `number`.
std::string payload_text(const std::string& job_class, const std::string& args, long number = 1,
                         const std::string& more = "");

// Pushes payloads to a queue as Sidekiq's client does, up to 1,000 with one command.
void enqueue(RedisServer& redis, const std::vector<std::string>& payloads, const std::string& queue = "default");

// `count` Ledger jobs with the ids 0 .. count-1 that write to `path` and take `milliseconds` each.
void enqueue_ledger_jobs(RedisServer& redis, const std::string& path, int count, int milliseconds = 0,
                         const std::string& queue = "default");

// The number of jobs in workers' in-flight lists.
std::size_t jobs_in_flight(RedisServer& redis);

// The number of jobs in a queue, all in-flight lists, `retry` and the schedule at one moment.
std::size_t jobs_left(RedisServer& redis, const std::string& queue = "default");

// Whether a queue, all in-flight lists and, unless `but_in_retry`, `retry` are empty at one moment.  Separate reads
// could miss a job that moves to a place that was read before.
bool no_job_is_left(RedisServer& redis, const std::string& queue = "default", bool but_in_retry = false);

// Waits until workers have fetched more than `by` jobs from the default queue, or all.  Returns false if they make no
// progress.
bool load_goes_on(RedisServer& redis, std::size_t by = 100);

}  // namespace brood
