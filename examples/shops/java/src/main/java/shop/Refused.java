package shop;

/** A claim that gets no order, and why. */
class Refused extends RuntimeException {
    Refused(String code) {
        super(code, null, false, false);
    }
}
