#include "worker/job/middleware.hpp"

#include <cstddef>
#include <exception>
#include <string>
#include <utility>

namespace brood {
namespace {

// The middleware of one library, and everything that it surrounds.
class Layer {
 public:
  Layer(const JobRegistry& registry, std::size_t depth, const abi::Call& call, const JobBody& body)
      : registry_(registry), depth_(depth), call_(call), body_(body) {}
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  void run(abi::Result& result) {
    if (depth_ == registry_.middleware().size()) return body_(call_, result);
    const abi::Inside inside{sizeof inside, this, [](void* host, const abi::Changes* changes, abi::Result* inner) {
                               static_cast<Layer*>(host)->run_inside(changes, *inner);
                             }};
    registry_.middleware()[depth_]->run_middleware(&call_, &inside, &result);
  }

 private:
  // Called from a library, so no exception may leave it.
  void run_inside(const abi::Changes* changes, abi::Result& result) {
    result.kind = ~0u;  // no success, in case the library writes nothing
    try {
      abi::Call call = call_;
      if (changes != nullptr && abi::has(*changes, &abi::Changes::payload)) {
        if (changes->job_class.data != nullptr) call.job_class = changes->job_class;
        if (changes->args.data != nullptr) call.args = changes->args;
        if (changes->payload.data != nullptr) call.payload = changes->payload;
      }
      Layer(registry_, depth_ + 1, call, body_).run(result);
    } catch (const std::exception& error) {
      fail(result, std::string("an exception left the job library: ") + error.what());
    } catch (...) {
      fail(result, "an exception left the job library");
    }
  }

  void fail(abi::Result& result, std::string message) {
    message_ = std::move(message);
    result.kind = abi::result_failed;
    result.error_class = {"LibraryError", 12};
    result.message = {message_.data(), message_.size()};
  }

  const JobRegistry& registry_;
  const std::size_t depth_;  // how many libraries surround this one
  const abi::Call& call_;
  const JobBody& body_;
  std::string message_;
};

}  // namespace

void run_in_middleware(const JobRegistry& registry, const abi::Call& call, const JobBody& body, abi::Result& result) {
  Layer(registry, 0, call, body).run(result);
}

}  // namespace brood
