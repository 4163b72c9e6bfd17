// 666 users send one claim each for 100 units: promise I1, the stock.
import { burst } from './lib/burst.js';

const { options, setup, claim, teardown, handleSummary } = burst({ users: 666, each: 1, stock: 100 });
export { options, setup, claim as default, teardown, handleSummary };
