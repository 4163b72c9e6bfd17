-- For HAProxy's check of a node's state.
CREATE USER 'haproxy'@'%';
-- For the copy of the data to a joining node (mariadb-backup), by the server itself.
CREATE USER 'mysql'@'localhost' IDENTIFIED VIA unix_socket;
GRANT RELOAD, PROCESS, LOCK TABLES, BINLOG MONITOR ON *.* TO 'mysql'@'localhost';
