// A job library that says something wrong of itself; BAD names what.
#include <brood/abi.hpp>
#include <stdexcept>

using namespace brood;

namespace {

enum Wrong {
  nothing,
  foreign_abi,
  small_library,
  null_library,
  no_jobs,
  null_jobs,
  null_function,
  null_job,
  small_job,
  empty_name,
  unsafe_name,
  long_name,
  null_name,
  null_perform,
  same_name_twice,
  wrong_result,
  null_texts,
  exception_out,
  untouched_result,
  static_throw,
  duplicate,
  half_middleware,
  unknown_registration
};
constexpr Wrong bad = BAD;

constexpr auto name_of(const char* text) {
  std::size_t size = 0;
  while (text[size] != '\0') ++size;
  return abi::Text{text, size};
}

const char long_text[300] = {'a'};

void perform(const abi::Call*, abi::Result* result) {
  if (bad == exception_out) throw std::runtime_error("out of the library");
  if (bad == untouched_result) return;
  result->kind = bad == wrong_result ? 99 : abi::result_failed;
  result->error_class = {nullptr, 1000};
  result->message = bad == null_texts ? abi::Text{nullptr, 5} : name_of("\xff\xfe");
}

void set_up(abi::Result* result) { result->kind = abi::result_succeeded; }
std::size_t count() { return 0; }
void death(const abi::Call*, const abi::Failure*) {}

constexpr bool knows_middleware = bad == half_middleware || bad == unknown_registration;
[[maybe_unused]] std::uint64_t registered() { return std::uint64_t{1} << 40; }
[[maybe_unused]] void middleware(const abi::Call*, const abi::Inside*, abi::Result*) {}
[[maybe_unused]] void event(const abi::Occasion*, abi::Result*) {}

abi::JobClass make_job(const char* name) {
  abi::JobClass job{};
  job.size = bad == small_job ? 8 : sizeof job;
  job.name = name_of(bad == empty_name ? "" : bad == unsafe_name ? "<b>Bad</b>" : name);
  if (bad == long_name) job.name = {long_text, sizeof long_text};
  if (bad == null_name) job.name = {nullptr, 3};
  job.perform = bad == null_perform ? nullptr : perform;
  return job;
}

const abi::JobClass first = make_job(bad == duplicate ? "ResizeImage" : "BadFirst");
const abi::JobClass second = make_job(bad == same_name_twice ? "BadFirst" : "BadSecond");
const abi::JobClass* const jobs[] = {&first, bad == null_job ? nullptr : &second};

const abi::Library library{bad == foreign_abi ? 7u : abi::version,
                           bad == small_library ? 16u : static_cast<std::uint32_t>(sizeof(abi::Library)),
                           {nullptr, 0},
                           bad == no_jobs ? 0u : 2u,
                           bad == null_jobs ? nullptr : jobs,
                           bad == null_function ? nullptr : set_up,
                           count,
                           death,
                           knows_middleware ? set_up : nullptr,
                           bad == unknown_registration ? registered : nullptr,
                           knows_middleware ? middleware : nullptr,
                           knows_middleware ? death : nullptr,
                           knows_middleware ? event : nullptr,
                           nullptr};

struct Thrower {
  Thrower() {
    if (bad == static_throw) throw std::runtime_error("thrown by a static constructor");
  }
} const thrower;

}  // namespace

extern "C" const abi::Library* brood_job_library() { return bad == null_library ? nullptr : &library; }
