// Shows the server's own description. A token that is entered there is sent to this server only, and kept nowhere.
const authorization = () => {
  const entered = viewer && viewer.authSelectors.authorized().toJS();
  return entered && entered.token && entered.token.value;
};
let viewer = null;
viewer = SwaggerUIBundle({
  url: "/v2/openapi.json",
  dom_id: "#viewer",
  deepLinking: true,
  validatorUrl: null,
  requestInterceptor: (request) => {
    const token = authorization();
    if (token && !request.headers.Authorization) request.headers.Authorization = `Bearer ${token}`;
    return request;
  },
});
