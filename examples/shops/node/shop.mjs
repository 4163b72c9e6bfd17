// A shop without a guard: it looks, and then it acts. Two claims that look at the same time both find a unit, and no order
// of the user. Replies have the status 200 and say in their body what they mean. MYSQL is mysql://user@host:port/database.
import { createServer } from 'node:http';
import { createPool } from 'mysql2/promise';

const db = createPool({ uri: process.env.MYSQL, connectionLimit: 20 });
await db.query('CREATE TABLE IF NOT EXISTS items (id INT PRIMARY KEY, stock INT NOT NULL)');
await db.query('CREATE TABLE IF NOT EXISTS orders (id INT AUTO_INCREMENT PRIMARY KEY, item INT NOT NULL, user INT NOT NULL)');

async function claim(item, user) {
  const [[{ stock }]] = await db.query('SELECT stock FROM items WHERE id = ?', [item]);
  if (stock < 1) return { code: 1, message: 'sold out' };
  const [[{ n }]] = await db.query('SELECT COUNT(*) AS n FROM orders WHERE item = ? AND user = ?', [item, user]);
  if (n > 0) return { code: 2, message: 'you have one' };
  const [order] = await db.query('INSERT INTO orders (item, user) VALUES (?, ?)', [item, user]);
  await db.query('UPDATE items SET stock = stock - 1 WHERE id = ?', [item]);
  return { code: 0, data: { order: order.insertId } };
}

async function restart(item, stock) {
  await db.query('DELETE FROM orders WHERE item = ?', [item]);
  await db.query('REPLACE INTO items (id, stock) VALUES (?, ?)', [item, stock]);
  return { code: 0 };
}

async function totals(item) {
  const [[counts]] = await db.query('SELECT COUNT(*) AS orders, COUNT(DISTINCT user) AS users FROM orders WHERE item = ?', [item]);
  return counts;
}

async function order(id) {
  const [[found]] = await db.query('SELECT * FROM orders WHERE id = ?', [id]);
  return found ?? { status: 404 };
}

const routes = {
  '/health': () => ({ code: 0 }),
  '/claim': (query) => claim(query.get('item'), query.get('user')),
  '/restart': (query) => restart(query.get('item'), query.get('stock')),
  '/totals': (query) => totals(query.get('item')),
  '/order': (query) => order(query.get('id')),
};

const server = createServer(async (request, response) => {
  const url = new URL(request.url, 'http://shop');
  let reply;
  try {
    reply = await (routes[url.pathname] ?? (() => ({ status: 404 })))(url.searchParams);
  } catch (error) {
    reply = { code: 10, message: String(error) };
  }
  response.writeHead(reply.status ?? 200, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify(reply));
});
server.listen(Number(process.env.PORT ?? 8080), '127.0.0.1');
