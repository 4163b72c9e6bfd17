package com.thoughtworks.xstream.security;

/** A copy of XStream's interface, which has to be on the same class path as NoTypePermission. */
public interface TypePermission {
    boolean allows(Class type);
}
