/* A wall clock for redis-server that stands still until a test moves it.
 *
 * Preloaded, it answers gettimeofday, time and clock_gettime(CLOCK_REALTIME) from one 64-bit number
 * of microseconds in the file named by STOCKROOM_CLOCK_FILE. The monotonic clock is left alone:
 * the server's event loop waits by it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *micros;

__attribute__((constructor)) static void attach(void) {
    const char *path = getenv("STOCKROOM_CLOCK_FILE");
    int fd = path ? open(path, O_RDONLY) : -1;
    if (fd < 0) return;
    void *page = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (page != MAP_FAILED) micros = page;
}

static int real_clock(clockid_t id, struct timespec *ts) {
    static int (*next)(clockid_t, struct timespec *);
    if (!next) next = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    return next(id, ts);
}

int clock_gettime(clockid_t id, struct timespec *ts) {
    if (!micros || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE)) return real_clock(id, ts);
    int64_t now = *micros;
    ts->tv_sec = now / 1000000;
    ts->tv_nsec = (now % 1000000) * 1000;
    return 0;
}

int gettimeofday(struct timeval *tv, void *tz) {
    (void)tz;
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    tv->tv_sec = ts.tv_sec;
    tv->tv_usec = ts.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out) {
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    if (out) *out = ts.tv_sec;
    return ts.tv_sec;
}
