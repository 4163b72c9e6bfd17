// Makes each flush of the server that preloads it take FLUSH_MS, below a second, and flush nothing: servers
// that share a disk then do not wait for each other.
#include <stdlib.h>
#include <time.h>

int fsync(int fd) {
	struct timespec pause = {0, 1000000L * atoi(getenv("FLUSH_MS"))};
	(void)fd;
	nanosleep(&pause, 0);
	return 0;
}

int fdatasync(int fd) { return fsync(fd); }
