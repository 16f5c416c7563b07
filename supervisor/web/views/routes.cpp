#include <array>

#include "supervisor/web/page/router.hpp"

namespace brood {

#define BROOD_ROUTE(kind, path, role, lane, handler, title) HttpResponse handler(Call& call);
#include "supervisor/web/views/routes.def"
#undef BROOD_ROUTE

std::span<const Route> routes() {
  static constexpr std::array table = {
#define BROOD_ROUTE(kind, path, role, lane, handler, title) \
  Route(Route::Kind::kind, path, Role::role, Lane::lane, handler, title),
#include "supervisor/web/views/routes.def"
#undef BROOD_ROUTE
  };
  return table;
}

}  // namespace brood
