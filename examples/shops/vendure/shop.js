// The least that starts a Vendure shop on PostgreSQL. node shop.js seed makes its tables, one product, three coupons and
// fifty customers; node shop.js serves it by two processes at 127.0.0.1:$PORT until it is ended.
process.env.VENDURE_DISABLE_TELEMETRY = 'true'; // nothing leaves this machine
const cluster = require('node:cluster');
const core = require('@vendure/core');
const { populateInitialData } = require('@vendure/core/cli');

const seeding = process.argv[2] === 'seed';

const config = {
  apiOptions: { hostname: '127.0.0.1', port: Number(process.env.PORT || 0) },
  authOptions: { tokenMethod: 'cookie', cookieOptions: { secret: 'of a private shop' } },
  dbConnectionOptions: {
    type: 'postgres', host: process.env.DB_HOST, port: Number(process.env.DB_PORT), username: process.env.DB_USER,
    database: process.env.DB_NAME, synchronize: seeding, poolSize: 30,
  },
  paymentOptions: { paymentMethodHandlers: [core.dummyPaymentHandler] },
  logger: new core.DefaultLogger({ level: core.LogLevel.Warn }),
};

const initialData = {
  defaultLanguage: 'en', defaultZone: 'Europe', collections: [],
  countries: [{ code: 'CH', name: 'Switzerland', zone: 'Europe' }],
  taxRates: [{ name: 'Standard', percentage: 0 }],
  shippingMethods: [{ name: 'Post', price: 500 }],
  paymentMethods: [{
    name: 'Dummy', handler: { code: 'dummy-payment-handler', arguments: [{ name: 'automaticSettle', value: 'true' }] },
  }],
};

const inEnglish = (name) => [{ languageCode: 'en', name, slug: name, description: '' }];

async function seed() {
  const app = await core.bootstrap(config);
  await populateInitialData(app, initialData);
  const ctx = await app.get(core.RequestContextService).create({ apiType: 'admin' });
  const product = await app.get(core.ProductService).create(ctx, { translations: inEnglish('lamp') });
  const tax = (await app.get(core.TaxCategoryService).findAll(ctx)).items[0];
  await app.get(core.ProductVariantService).create(ctx, [{
    productId: product.id, sku: 'lamp', price: 10000, stockOnHand: 1, trackInventory: 'TRUE', taxCategoryId: tax.id,
    translations: [{ languageCode: 'en', name: 'lamp' }],
  }]);
  for (const limit of [{ couponCode: 'LIMITED', usageLimit: 1 }, { couponCode: 'ONCE', perCustomerUsageLimit: 1 },
    { couponCode: 'TWICE', perCustomerUsageLimit: 2 }]) {
    await app.get(core.PromotionService).createPromotion(ctx, {
      enabled: true, conditions: [], translations: inEnglish(limit.couponCode), ...limit,
      actions: [{ code: 'order_percentage_discount', arguments: [{ name: 'discount', value: '50' }] }],
    });
  }
  for (let i = 1; i <= 50; i++) {
    const emailAddress = `user${i}@example.com`;
    await app.get(core.CustomerService).createOrUpdate(ctx, { firstName: 'User', lastName: String(i), emailAddress });
  }
  await app.close();
}

async function main() {
  if (seeding) {
    await seed();
    process.exit(0); // a job queue may still be waiting
  }
  if (cluster.isPrimary) {
    cluster.fork();
    cluster.fork();
    cluster.on('exit', () => process.exit(1));
    process.on('SIGTERM', () => process.exit(0)); // which ends the other two
  } else {
    await core.bootstrap(config);
  }
}

main().catch((err) => {
  console.error(err);
  process.exit(1);
});
