// The claim is what the service is for, so it is the first operation.
const rank = (operation) => operation.getIn(["operation", "operationId"]) === "claim-a-coupon" ? 0 : 1;

SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  tagsSorter: (a, b) => b.localeCompare(a), // user, admin
  operationsSorter: (a, b) => rank(a) - rank(b),
  presets: [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset],
  plugins: [SwaggerUIBundle.plugins.DownloadUrl],
  layout: "StandaloneLayout",
  showExtensions: true,
  showCommonExtensions: true,
  validatorUrl: null,
  defaultModelsExpandDepth: -1,
  persistAuthorization: true,
});
