package shop;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Isolation;
import org.springframework.transaction.annotation.Transactional;

/**
 * Looks for an order of the user, takes a unit and inserts the order. No unique key guards it. In
 * REPEATABLE READ, MariaDB from 11.6 on would refuse (1020) to take a unit that another claim has
 * taken since the look; MySQL would not.
 */
@Service
class Orders {
    private final JdbcTemplate db;
    private final UserLock lock;

    Orders(JdbcTemplate db, UserLock lock) {
        this.db = db;
        this.lock = lock;
    }

    @Transactional(isolation = Isolation.READ_COMMITTED)
    public long insert(long coupon, long user) {
        Integer had = db.queryForObject("SELECT COUNT(*) FROM orders WHERE coupon = ? AND user = ?", Integer.class, coupon, user);
        if (had > 0) {
            throw new Refused("already_claimed");
        }
        if (db.update("UPDATE coupons SET stock = stock - 1 WHERE id = ? AND stock > 0", coupon) == 0) {
            throw new Refused("sold_out");
        }
        long id = ThreadLocalRandom.current().nextLong(1, Long.MAX_VALUE);
        db.update("INSERT INTO orders (id, coupon, user) VALUES (?, ?, ?)", id, coupon, user);
        return id;
    }

    /** Begins its transaction before the lock is acquired, and commits when the lock was released and the user was told. */
    @Transactional(isolation = Isolation.READ_COMMITTED)
    public long insertLocked(long coupon, long user) {
        long id = lock.with(user, () -> insert(coupon, user));
        db.update("INSERT INTO notices (order_id) VALUES (?)", id);
        sendNotice();
        return id;
    }

    /** Stands for a request to another service: what a transaction waits for beside the database. */
    private static void sendNotice() {
        LockSupport.parkNanos(Duration.ofMillis(20).toNanos());
    }
}
