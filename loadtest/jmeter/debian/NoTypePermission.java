package com.thoughtworks.xstream.security;

/**
 * Allows every class. Debian combines JMeter 2.13 with an XStream that is six
 * years newer and by default denies every class that is not explicitly allowed.
 * JMeter allows none, so it cannot open any plan. Placed before XStream on the
 * boot class path, this class removes the default denial. The only file that is
 * read is the plan in this repository.
 */
public class NoTypePermission implements TypePermission {
    public static final TypePermission NONE = new NoTypePermission();

    public boolean allows(Class type) {
        return true;
    }
}
