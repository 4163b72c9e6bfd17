// Makes a region, a lamp that need not be shipped, a promotion of one use, and the key of the store's API.
const { ContainerRegistrationKeys, Modules } = require('@medusajs/framework/utils');
const flows = require('@medusajs/medusa/core-flows');

exports.default = async function seed({ container }) {
  const run = async (workflow, input) => (await flows[workflow](container).run({ input })).result;

  const [channel] = await run('createSalesChannelsWorkflow', { salesChannelsData: [{ name: 'web' }] });
  const [location] = await run('createStockLocationsWorkflow', { locations: [{ name: 'here' }] });
  await run('linkSalesChannelsToStockLocationWorkflow', { id: location.id, add: [channel.id] });
  await run('createRegionsWorkflow', {
    regions: [{ name: 'Switzerland', currency_code: 'chf', countries: ['ch'], payment_providers: ['pp_system_default'] }],
  });
  const [key] = await run('createApiKeysWorkflow', { api_keys: [{ title: 'web', type: 'publishable', created_by: '' }] });
  await run('linkSalesChannelsToApiKeyWorkflow', { id: key.id, add: [channel.id] });

  await run('createProductsWorkflow', {
    products: [{
      title: 'lamp', status: 'published', sales_channels: [{ id: channel.id }], options: [{ title: 'size', values: ['one'] }],
      variants: [{
        title: 'lamp', sku: 'lamp', options: { size: 'one' }, manage_inventory: true,
        prices: [{ currency_code: 'chf', amount: 100 }],
      }],
    }],
  });
  const inventory = container.resolve(Modules.INVENTORY);
  const [item] = await inventory.listInventoryItems({ sku: 'lamp' });
  await inventory.updateInventoryItems([{ id: item.id, requires_shipping: false }]);
  await run('createInventoryLevelsWorkflow', {
    inventory_levels: [{ location_id: location.id, inventory_item_id: item.id, stocked_quantity: 1 }],
  });
  await run('createPromotionsWorkflow', {
    promotionsData: [{
      code: 'LIMITED', type: 'standard', status: 'active', limit: 1,
      application_method: { type: 'percentage', target_type: 'order', value: 50, currency_code: 'chf' },
    }],
  });
  const database = container.resolve(ContainerRegistrationKeys.PG_CONNECTION);
  await database.raw("UPDATE api_key SET token = 'pk_lamp' WHERE id = ?", [key.id]);
};
