package shop;

import java.util.concurrent.ThreadLocalRandom;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

/** Looks for an order of the user, takes a unit and inserts the order. No unique key guards it. */
@Service
class Orders {
    private final JdbcTemplate db;
    private final UserLock lock;

    Orders(JdbcTemplate db, UserLock lock) {
        this.db = db;
        this.lock = lock;
    }

    @Transactional
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

    /** Begins its transaction before the lock is acquired, and commits after it was released. */
    @Transactional
    public long insertLocked(long coupon, long user) {
        long id = lock.with(user, () -> insert(coupon, user));
        db.update("INSERT INTO notices (order_id) VALUES (?)", id);
        return id;
    }
}
