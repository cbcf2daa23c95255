/* For the control of the power cuts: a process that loads this never syncs anything. */
int fsync(int fd) { (void)fd; return 0; }
int fdatasync(int fd) { (void)fd; return 0; }
int sync_file_range(int fd, long long at, long long bytes, unsigned flags) { (void)fd; (void)at; (void)bytes; (void)flags; return 0; }
int msync(void *at, unsigned long bytes, int flags) { (void)at; (void)bytes; (void)flags; return 0; }
