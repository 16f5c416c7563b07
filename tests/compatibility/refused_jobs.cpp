// Each REFUSED_... is a struct that is no job: the compiler must refuse it and explain why.  Without one it compiles.
#include <algorithm>
#include <brood/client.hpp>
#include <brood/job.hpp>
#include <coroutine>
#include <future>
#include <memory>

// A coroutine that has done nothing when it returns.
struct Lazy {
  struct promise_type {
    Lazy get_return_object() { return {}; }
    std::suspend_always initial_suspend() { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() {}
  };
};

struct Fine {
  std::string text;
  std::optional<int> number = {};
  void perform() {}
};

#if defined(REFUSED_raw_array)
struct Wrong {
  std::string text;
  int numbers[3] = {};
  void perform() {}
};
#elif defined(REFUSED_no_default)
struct Meter {
  explicit Meter(int length) : length(length) {}
  int length;
};
struct Wrong {
  std::string text;
  Meter meter;
  int number = 0;
  void perform() {}
};
#elif defined(REFUSED_array_of_one)
struct Wrong {
  int numbers[1] = {};
  void perform() {}
};
#elif defined(REFUSED_field_type)
struct Wrong {
  std::string text;
  std::unique_ptr<int> pointer;
  void perform() {}
};
#elif defined(REFUSED_nested_field_type)
struct Inner {
  int fine = 0;
  char letter = 'a';
};
struct Wrong {
  std::vector<Inner> inner;
  void perform() {}
};
#elif defined(REFUSED_map_key)
struct Wrong {
  std::map<int, int> numbers;
  void perform() {}
};
#elif defined(REFUSED_variant)
struct Wrong {
  std::variant<double, int> number;
  void perform() {}
};
#elif defined(REFUSED_private_field)
class Wrong {
  int hidden = 0;

 public:
  void perform() { ++hidden; }
};
#elif defined(REFUSED_constructor)
struct Wrong {
  Wrong() = default;
  explicit Wrong(int n) : number(n) {}
  int number = 0;
  void perform() {}
};
#elif defined(REFUSED_virtual)
struct Wrong {
  virtual void perform() {}
};
#elif defined(REFUSED_base)
struct Base {
  int one = 0;
};
struct Wrong : Base {
  int two = 0;
  void perform() {}
};
#elif defined(REFUSED_seventeen)
struct Wrong {
  int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q;
  void perform() {}
};
#elif defined(REFUSED_no_perform)
struct Wrong {
  int number = 0;
};
#elif defined(REFUSED_perform_argument)
struct Wrong {
  void perform(int) {}
};
#elif defined(REFUSED_perform_bool)
struct Wrong {
  bool perform() { return false; }
};
#elif defined(REFUSED_perform_static)
struct Wrong {
  static int perform(brood::Context&) { return 1; }
};
#elif defined(REFUSED_perform_const)
struct Wrong {
  bool perform() const noexcept { return true; }
};
#elif defined(REFUSED_perform_overloaded)
struct Wrong {
  void perform() {}
  bool perform(brood::Context&) { return true; }
};
#elif defined(REFUSED_perform_template)
struct Wrong {
  template <typename Job>
  auto perform(Job& job) {
    return job.stopping();
  }
};
#elif defined(REFUSED_perform_lazy)
struct Wrong {
  Lazy perform() { co_return; }
};
#elif defined(REFUSED_perform_future)
struct Wrong {
  std::future<void> perform() {
    return std::async(std::launch::deferred, [] {});
  }
};
#elif defined(REFUSED_perform_private)
class Wrong {
  void perform() {}
};
#elif defined(REFUSED_perform_by_value)
struct Wrong {
  void perform(brood::Context) {}
};
#elif defined(REFUSED_each_lazy)
struct Wrong {
  brood::Items<int> items(std::optional<std::int64_t>) { return {}; }
  Lazy each(int) { co_return; }
};
#elif defined(REFUSED_each_bool)
struct Wrong {
  brood::Items<int> items(std::optional<std::int64_t>) { return {}; }
  bool each(int, brood::Iteration&) { return true; }
};
#elif defined(REFUSED_iterates_and_hides_perform)
struct Wrong {
  brood::Items<int> items(std::optional<std::int64_t>) { return {}; }
  void each(int) {}
  void perform(int) {}
};
#elif defined(REFUSED_hook_result)
struct Wrong {
  brood::Items<int> items(std::optional<std::int64_t>) { return {}; }
  void each(int) {}
  bool on_start() { return true; }
};
#elif defined(REFUSED_hook_hidden)
struct Wrong {
  brood::Items<int> items(std::optional<std::int64_t>) { return {}; }
  void each(int) {}

 private:
  void on_complete() {}
};
#elif defined(REFUSED_retry_in_result)
struct Wrong {
  static int retry_in(int, const std::exception&) { return 10; }
  void perform() {}
};
#elif defined(REFUSED_retry_in_nothing)
struct Wrong {
  void retry_in(int, const std::exception&, const brood::JobInfo&) {}
  void perform() {}
};
#elif defined(REFUSED_retry_in_overloaded)
struct Wrong {
  static brood::RetryDecision retry_in(int) { return brood::kill; }
  static brood::RetryDecision retry_in(const std::exception&) { return brood::kill; }
  void perform() {}
};
#elif defined(REFUSED_retry_in_private)
struct Wrong {
  void perform() {}

 private:
  static brood::RetryDecision retry_in(int, const std::exception&) { return brood::kill; }
};
#elif defined(REFUSED_exhausted_result)
struct Wrong {
  std::chrono::seconds exhausted(const brood::JobInfo&, const std::exception&) { return {}; }
  void perform() {}
};
#elif defined(REFUSED_exhausted_lazy)
struct Wrong {
  static Lazy exhausted(const brood::JobInfo&, const std::exception&) { co_return; }
  void perform() {}
};
#elif defined(REFUSED_middleware_lazy)
using Wrong = Fine;
void brood_setup(brood::Setup& setup) {
  setup.server_middleware().add("lazy", [](brood::Run&, const brood::Next& next) -> Lazy {
    next();
    co_return;
  });
}
#elif defined(REFUSED_client_middleware_bool)
using Wrong = Fine;
void setup_client(brood::Client& client) {
  client.middleware().prepend("checks", [](brood::Push&, const brood::Next&) { return false; });
}
#elif defined(REFUSED_event_handler_lazy)
using Wrong = Fine;
void brood_setup(brood::Setup& setup) {
  setup.on(brood::Event::startup, []() -> Lazy { co_return; });
}
#elif defined(REFUSED_error_handler_lazy)
using Wrong = Fine;
void brood_setup(brood::Setup& setup) {
  setup.on_error([](const brood::JobInfo&, const std::exception&) -> Lazy { co_return; });
}
#elif defined(REFUSED_death_handler)
using Wrong = Fine;
void brood_setup(brood::Setup& setup) {
  setup.on_death([](const std::exception&) {});
}
#elif defined(REFUSED_setup_result)
using Wrong = Fine;
bool brood_setup(brood::Setup&) { return true; }
#elif defined(REFUSED_setup_by_value)
using Wrong = Fine;
void brood_setup(brood::Setup) {}
#elif defined(REFUSED_anonymous)
namespace {
struct Wrong {
  void perform() {}
};
}  // namespace
#elif defined(REFUSED_template_name)
template <typename Type>
struct Template {
  void perform() {}
};
using Wrong = Template<int>;
#elif defined(REFUSED_class_name)
struct Wrong {
  static constexpr std::string_view job_class = "<b>";
  void perform() {}
};
#elif defined(REFUSED_required)
struct Wrong {
  int number = 0;
  static constexpr brood::JobOptions options{.required = 2};
  void perform() {}
};
#elif defined(REFUSED_retry)
struct Wrong {
  static constexpr brood::JobOptions options{.retry = -1};
  void perform() {}
};
#elif defined(REFUSED_retry_in)
struct Wrong {
  static brood::RetryDecision retry_in(const std::exception&) { return brood::kill; }
  void perform() {}
};
#elif defined(REFUSED_exhausted)
struct Wrong {
  void exhausted(int) {}
  void perform() {}
};
#elif defined(REFUSED_items_alone)
struct Wrong {
  brood::Items<int> items(std::optional<std::int64_t>) { return {}; }
};
#elif defined(REFUSED_each_alone)
struct Wrong {
  void each(int) {}
};
#elif defined(REFUSED_iterates_and_performs)
struct Wrong {
  brood::Items<int> items(std::optional<std::int64_t>) { return {}; }
  void each(int) {}
  void perform() {}
};
#elif defined(REFUSED_items_type)
struct Wrong {
  std::vector<int> items(std::optional<std::int64_t>) { return {}; }
  void each(int) {}
};
#elif defined(REFUSED_items_cursor)
struct Wrong {
  brood::Items<int, std::string> items(std::optional<std::int64_t>) { return {}; }
  void each(int) {}
};
#elif defined(REFUSED_cursor_type)
struct Wrong {
  brood::Items<int, char> items(std::optional<char>) { return {}; }
  void each(int) {}
};
#elif defined(REFUSED_each_item)
struct Wrong {
  brood::Items<int> items(std::optional<std::int64_t>) { return {}; }
  void each(const std::string&) {}
};
#elif defined(REFUSED_hook)
struct Wrong {
  brood::Items<int> items(std::optional<std::int64_t>) { return {}; }
  void each(int) {}
  void on_stop(int) {}
};
#elif defined(REFUSED_flush_interval)
struct Wrong {
  static constexpr int flush_interval = 5;
  brood::Items<int> items(std::optional<std::int64_t>) { return {}; }
  void each(int) {}
};
#elif defined(REFUSED_items_of_an_adaptor)
struct Wrong {
  brood::Items<int> items(std::optional<std::int64_t> cursor) {
    std::vector<int> rows{1, 2};
    return brood::each_of(rows | std::views::drop(1), cursor);
  }
  void each(int) {}
};
#elif defined(REFUSED_items_of_all)
struct Wrong {
  brood::Items<int> items(std::optional<std::int64_t> cursor) {
    std::vector<int> rows{1, 2};
    return brood::each_of(std::views::all(rows), cursor);
  }
  void each(int) {}
};
#elif defined(REFUSED_items_of_a_subrange)
struct Wrong {
  brood::Items<int> items(std::optional<std::int64_t> cursor) {
    std::vector<int> rows{1, 2};
    return brood::each_of(std::ranges::subrange(rows.begin(), rows.end()), cursor);
  }
  void each(int) {}
};
#elif defined(REFUSED_items_of_an_adapted_subrange)
struct Wrong {
  brood::Items<int> items(std::optional<std::int64_t> cursor) {
    std::vector<int> rows{1, 2};
    return brood::each_of(std::ranges::equal_range(rows, 2) | std::views::filter([](int) { return true; }), cursor);
  }
  void each(int) {}
};
#elif defined(REFUSED_steps_of_a_subrange)
struct Wrong {
  brood::Items<int> items(std::optional<std::int64_t>) {
    std::vector<brood::Step<int> > rows{{1, 0}, {2, 1}};
    return std::ranges::subrange(rows.begin(), rows.end());
  }
  void each(int) {}
};
#elif defined(REFUSED_items_that_cannot_be_copied)
struct Wrong {
  brood::Items<const std::unique_ptr<int>&> items(std::optional<std::int64_t> cursor) {
    std::vector<std::unique_ptr<int> > rows;
    return brood::each_of(rows, cursor);
  }
  void each(const std::unique_ptr<int>&) {}
};
#elif defined(REFUSED_items_that_refer)
struct Wrong {
  brood::Items<std::string_view> items(std::optional<std::int64_t> cursor) { return brood::each_line("file", cursor); }
  void each(std::string_view) {}
};
#elif defined(REFUSED_options_type)
struct Wrong {
  static constexpr int options = 3;
  void perform() {}
};
#elif defined(REFUSED_event_handler)
using Wrong = Fine;
void brood_setup(brood::Setup& setup) {
  setup.on(brood::Event::startup, [](int) {});
}
#elif defined(BY_ITERATION)
struct Wrong {
  std::vector<int> each_number;
  brood::Items<int> items(std::optional<std::int64_t> cursor) const { return brood::each_of(each_number, cursor); }
  void each(int, brood::Iteration&) {}
  void on_stop() {}
};
#elif defined(BY_SHAPE)  // anything that can be called and returns nothing
struct Constant {
  void perform() const noexcept {}
};
struct Static {
  static void perform(brood::Context&) {}
  brood::Discard exhausted(const brood::JobInfo&, const std::exception&) const { return {}; }
};
struct Overloaded {
  void perform() {}
  void perform(const brood::Context&, int = 0) {}
};
struct Wrong {
  template <typename Job>
  void perform(Job&) {}
  std::chrono::minutes retry_in(int, const std::exception&, const brood::JobInfo&) const { return {}; }
};
#define BY_SHAPE_JOBS Constant, Static, Overloaded, Wrong
#elif defined(BY_LIKENESS)  // other structs may use these names
struct Wrong {
  std::vector<int> items;
  int each = 0;
  int retry_in = 0;
  bool exhausted = false;
  void on_stop(int) {}
  void perform() {}
};
#else
using Wrong = Fine;
#endif

#if defined(BY_CLIENT)
std::string push(brood::Client& client, const Wrong& job) { return client.enqueue(job); }
#elif defined(REFUSED_no_jobs)
BROOD_JOBS()
#elif defined(BY_SHAPE)
BROOD_JOBS(BY_SHAPE_JOBS)
#else
BROOD_JOBS(Wrong)
#endif
