#include <brood/client.hpp>
#include <brood/testing.hpp>
#include <cstdio>
#include <stdexcept>

#include "count_words.hpp"

namespace {

void expect(bool fact, const char* what) {
  if (!fact) throw std::logic_error(what);
}

// What a program enqueues, looked at: no Redis is needed.
void the_job_is_pushed_to_its_queue() {
  const brood::testing::Fake fake;
  brood::Client{}.enqueue(CountWords{.path = "/etc/services"});
  expect(fake.size() == 1, "one job was pushed");
  expect(fake.jobs()[0].queue == "default", "to its queue");
  expect(fake.jobs_of<CountWords>()[0].path == "/etc/services", "with its path");
}

// What a job does, performed in this process with arguments from JSON.
void the_job_reads_its_file() {
  brood::testing::Fake fake(brood::testing::Jobs::of<CountWords>());
  brood::Client{}.enqueue(CountWords{.path = __FILE__});
  expect(fake.drain() == 1, "one job was performed");
}

void a_missing_file_is_an_error() {
  brood::testing::Fake fake(brood::testing::Jobs::of<CountWords>());
  brood::Client{}.enqueue(CountWords{.path = "/nonexistent"});
  try {
    fake.drain();
  } catch (const std::runtime_error& error) {
    expect(error.what() == std::string("cannot read /nonexistent"), error.what());
    return;
  }
  expect(false, "the job threw");
}

}  // namespace

int main() {
  try {
    the_job_is_pushed_to_its_queue();
    the_job_reads_its_file();
    a_missing_file_is_an_error();
  } catch (const std::exception& error) {
    std::puts(error.what());
    return 1;
  }
}
