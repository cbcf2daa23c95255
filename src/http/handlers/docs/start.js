// Shows the server's own description, with the paths of the blueprints that the entered token sees. A token is sent to this server
// only, and kept nowhere.
const DESCRIPTION = "/v2/openapi.json";

// Undefined for the first request, which is made before there is a viewer to enter a token in.
const authorization = () => {
  const entered = viewer && viewer.authSelectors.authorized().toJS();
  return entered && entered.token && entered.token.value;
};

// Reads the description again when somebody signs in or out, since it depends on who asks.
const describeAgain = () => {
  const again = (original) => (...parameters) => {
    const result = original(...parameters);
    viewer.specActions.download(DESCRIPTION);
    return result;
  };
  return { statePlugins: { auth: { wrapActions: { authorizeWithPersistOption: again, logoutWithPersistOption: again } } } };
};

let viewer = null;
viewer = SwaggerUIBundle({
  url: DESCRIPTION,
  dom_id: "#viewer",
  deepLinking: true,
  validatorUrl: null,
  plugins: [describeAgain],
  requestInterceptor: (request) => {
    const token = authorization();
    if (token && !request.headers.Authorization) request.headers.Authorization = `Bearer ${token}`;
    return request;
  },
});
