package com.thoughtworks.xstream.security;

/** XStream's interface, as it is: NoTypePermission has to find it beside itself. */
public interface TypePermission {
    boolean allows(Class type);
}
