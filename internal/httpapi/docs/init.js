SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  presets: [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset],
  plugins: [SwaggerUIBundle.plugins.DownloadUrl],
  layout: "StandaloneLayout",
  showExtensions: true,
  showCommonExtensions: true,
  validatorUrl: null,
  defaultModelsExpandDepth: -1,
  persistAuthorization: true,
});
