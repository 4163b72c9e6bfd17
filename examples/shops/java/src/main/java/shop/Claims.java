package shop;

import java.util.Map;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;

/** The same claim twice: with the transaction inside the user's lock, and outside it. */
@RestController
class Claims {
    private final UserLock lock;
    private final Orders orders;

    Claims(UserLock lock, Orders orders) {
        this.lock = lock;
        this.orders = orders;
    }

    @GetMapping("/health")
    Map<String, String> health() {
        return Map.of("status", "up");
    }

    /** Right: the transaction has committed when the lock is released. */
    @PostMapping("/coupons/{coupon}/claims")
    @ResponseStatus(HttpStatus.CREATED)
    Map<String, Long> claim(@PathVariable long coupon, @RequestHeader("X-User") long user) {
        return Map.of("order", lock.with(user, () -> orders.insert(coupon, user)));
    }

    /** The classic mistake: the lock is released while the transaction is still open. */
    @PostMapping("/coupons/{coupon}/claims-outside")
    @ResponseStatus(HttpStatus.CREATED)
    Map<String, Long> claimOutside(@PathVariable long coupon, @RequestHeader("X-User") long user) {
        return Map.of("order", orders.insertLocked(coupon, user));
    }

    @ExceptionHandler(Refused.class)
    @ResponseStatus(HttpStatus.CONFLICT)
    Map<String, String> refused(Refused refused) {
        return Map.of("code", refused.getMessage());
    }
}
