// The least of a Medusa shop on PostgreSQL: no dashboard, and the modules in Redis that its documentation recommends for
// production.
const { defineConfig } = require('@medusajs/framework/utils');

const { DB_USER, DB_HOST, DB_PORT, DB_NAME, DIR } = process.env;
const REDIS = `${DIR}/redis`; // a socket
const secret = 'of a private shop';
const cors = 'http://127.0.0.1';

module.exports = defineConfig({
  admin: { disable: true },
  projectConfig: {
    databaseUrl: `postgres://${DB_USER}@${DB_HOST}:${DB_PORT}/${DB_NAME}?sslmode=disable`,
    databaseDriverOptions: { connection: { ssl: false }, pool: { min: 0, max: 45 } },
    http: { storeCors: cors, adminCors: cors, authCors: cors, jwtSecret: secret, cookieSecret: secret },
  },
  modules: [
    { resolve: '@medusajs/medusa/event-bus-redis', options: { redisUrl: REDIS } },
    { resolve: '@medusajs/medusa/workflow-engine-redis', options: { redis: { redisUrl: REDIS, url: REDIS } } },
    {
      resolve: '@medusajs/medusa/locking',
      options: {
        providers: [
          { resolve: '@medusajs/medusa/locking-redis', id: 'locking-redis', is_default: true, options: { redisUrl: REDIS } },
        ],
      },
    },
  ],
});
