// 200 users hold one coupon each, and return it at the moment at which their hold is over.
import { burst } from './lib/burst.js';

const { options, setup, giveBack, teardown, handleSummary } = burst({ users: 200, each: 1, stock: 200 });
export { options, setup, giveBack as default, teardown, handleSummary };
