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

const server = createServer(async (request, response) => {
  let reply = { code: 9, message: 'no such route' };
  try {
    const url = new URL(request.url, 'http://shop');
    if (url.pathname === '/health') reply = { code: 0 };
    if (url.pathname === '/claim') reply = await claim(url.searchParams.get('item'), url.searchParams.get('user'));
  } catch (error) {
    reply = { code: 10, message: String(error) };
  }
  response.setHeader('Content-Type', 'application/json');
  response.end(JSON.stringify(reply));
});
server.listen(Number(process.env.PORT ?? 8080), '127.0.0.1');
