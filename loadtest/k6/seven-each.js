// 100 users send seven claims each for 50 units: all promises together.
import { burst } from './lib/burst.js';

const { options, setup, claim, teardown, handleSummary } = burst({ users: 100, each: 7, stock: 50 });
export { options, setup, claim as default, teardown, handleSummary };
