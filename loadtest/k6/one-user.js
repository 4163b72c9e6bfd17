// One user sends 666 claims for 100 units: promise I2, one each.
import { burst } from './lib/burst.js';

const { options, setup, claim, teardown, handleSummary } = burst({ users: 1, each: 666, stock: 100 });
export { options, setup, claim as default, teardown, handleSummary };
