// Each REFUSED_... is a struct that is no job: the compiler must refuse it and say why.  Without one it compiles.
#include <brood/client.hpp>
#include <brood/job.hpp>
#include <memory>

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
#elif defined(BY_LIKENESS)  // these names are nobody's own
struct Wrong {
  std::vector<int> items;
  int each = 0;
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
#else
BROOD_JOBS(Wrong)
#endif
