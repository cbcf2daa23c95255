//! A route as data, so that a test can visit all of them. Must not know any route.

use axum::Router;
use axum::http::Method;
use axum::routing::MethodRouter;

use crate::app::App;

/// A route of the server.
pub(super) struct Route {
    /// The path in the router's notation.
    pub(super) path: String,
    /// The methods that need no token. A test checks that all others answer 401 without one.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test walks all routes"))]
    pub(super) open: Vec<Method>,
    handlers: MethodRouter<App>,
}

impl Route {
    /// Creates a route that needs a token.
    pub(super) fn new(path: impl Into<String>, handlers: MethodRouter<App>) -> Route {
        Route { path: path.into(), open: Vec::new(), handlers }
    }

    /// Marks methods that need no token.
    pub(super) fn open_to_all(self, methods: &[Method]) -> Route {
        Route { open: methods.to_vec(), ..self }
    }
}

/// Returns a router of these routes.
pub(super) fn into_router(routes: Vec<Route>) -> Router<App> {
    routes.into_iter().fold(Router::new(), |router, route| router.route(&route.path, route.handlers))
}
