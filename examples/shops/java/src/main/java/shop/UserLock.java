package shop;

import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.springframework.stereotype.Component;

/** A lock for each user, which Redisson's watchdog renews. */
@Component
class UserLock {
    private final RedissonClient redisson;

    UserLock(RedissonClient redisson) {
        this.redisson = redisson;
    }

    <T> T with(long user, Supplier<T> section) {
        RLock lock = redisson.getLock("lock:user:" + user);
        if (!acquired(lock)) {
            throw new Refused("claim_in_progress");
        }
        try {
            return section.get();
        } finally {
            lock.unlock();
        }
    }

    private boolean acquired(RLock lock) {
        try {
            return lock.tryLock(10, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
