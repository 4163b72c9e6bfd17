// 200 users want one of at most three each. The first reply to each is cut, and each claims again: promise I2, a retry.
import { burst } from './lib/burst.js';

const { options, setup, claim, teardown, handleSummary } = burst({ users: 200, each: 1, stock: 600, retry: true });
export { options, setup, claim as default, teardown, handleSummary };
