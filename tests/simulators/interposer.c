/* The system calls of one process below one folder: written down, made to fail, or used to stop or end the process.
 *
 * Loaded with LD_PRELOAD before Python, so that SQLite's calls pass here as well as Python's own. Nothing happens
 * until `interposer_start` names the folder; tests/faults/interposer.py holds the other side of each structure.
 * One call at a time is looked at: threads wait for each other, which is what makes the order written down real.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PATH_BYTES 4096

/* The order is that of `Kind` in tests/faults/calls.py. */
enum kind {
    OPEN, CREATE, READ, WRITE, TRUNCATE, SYNC, RENAME, UNLINK, MKDIR, CLOSE, STAT, LIST, LOCK, MAP, OTHER, MARK
};

/* The order is that of `Mode` in tests/faults/interposer.py. */
enum mode { RECORD, FAIL, LATE, SHORT, KILL, PAUSE };

struct entry {
    uint32_t total;
    int32_t kind;
    int32_t result;
    int32_t error;
    int32_t injected;
    uint32_t mode;
    uint64_t inode;
    uint64_t folder;
    uint64_t folder_new;
    int64_t offset;
    uint64_t length;
    uint32_t path_bytes;
    uint32_t path_new_bytes;
    uint32_t data_bytes;
    uint32_t zero;
};

struct call {
    enum kind kind;
    int active;
    int due;
    struct entry entry;
    char path[PATH_BYTES];
    char path_new[PATH_BYTES];
};

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static char root[PATH_BYTES], apart[PATH_BYTES];
static size_t root_bytes, apart_bytes;
static int log_descriptor = -1;
static int started, quick;
static struct { int mode, error, persistent, notify, wait; long at, met; uint64_t kinds; } plan;

static void after_fork(void) { pthread_mutex_init(&turn, NULL); }

__attribute__((constructor)) static void prepare(void) { pthread_atfork(NULL, NULL, after_fork); }

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

/* -- where a call goes ---------------------------------------------------------------------------------------- */

static int path_of_descriptor(int descriptor, char *path)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    long size = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_BYTES - 1);
    if (size < 0) return 0;
    path[size] = 0;
    static const char gone[] = " (deleted)";
    if (size > (long)sizeof gone && !strcmp(path + size - (sizeof gone - 1), gone))
        path[size - (sizeof gone - 1)] = 0;
    return 1;
}

static int path_of_name(int folder, const char *name, char *path)
{
    if (name[0] == '/') return snprintf(path, PATH_BYTES, "%s", name) < PATH_BYTES;
    char base[PATH_BYTES];
    if (folder == AT_FDCWD) {
        if (syscall(SYS_getcwd, base, sizeof base) < 0) return 0;
    } else if (!path_of_descriptor(folder, base)) {
        return 0;
    }
    return snprintf(path, PATH_BYTES, "%s/%s", base, name) < PATH_BYTES;
}

static int is_in(const char *path, const char *folder, size_t bytes)
{
    return !strncmp(path, folder, bytes) && (path[bytes] == '/' || path[bytes] == 0);
}

static int is_below(const char *path)
{
    return is_in(path, root, root_bytes) && !(apart_bytes && is_in(path, apart, apart_bytes));
}

static uint64_t inode_of(int descriptor, const char *path)
{
    struct stat found;
    long failed = path ? syscall(SYS_newfstatat, AT_FDCWD, path, &found, AT_SYMLINK_NOFOLLOW)
                       : syscall(SYS_newfstatat, descriptor, "", &found, AT_EMPTY_PATH);
    return failed ? 0 : found.st_ino;
}

static uint64_t inode_of_folder(const char *path)
{
    char folder[PATH_BYTES];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (!slash) return 0;
    *slash = 0;
    return inode_of(-1, folder);
}

/* -- what becomes of a call ----------------------------------------------------------------------------------- */

static void write_down(struct call *call, const void *data, size_t size)
{
    struct entry *entry = &call->entry;
    entry->kind = call->kind;
    entry->path_bytes = strlen(call->path);
    entry->path_new_bytes = strlen(call->path_new);
    entry->data_bytes = size;
    entry->total = sizeof *entry + entry->path_bytes + entry->path_new_bytes + size;
    syscall(SYS_write, log_descriptor, entry, sizeof *entry);
    syscall(SYS_write, log_descriptor, call->path, entry->path_bytes);
    syscall(SYS_write, log_descriptor, call->path_new, entry->path_new_bytes);
    if (size) syscall(SYS_write, log_descriptor, data, size);
}

/* Count the call; afterwards `due` says whether the plan is for this one. The turn is held if `active`. */
static void meet(struct call *call)
{
    pthread_mutex_lock(&turn);
    call->active = 1;
    if (!(plan.kinds >> call->kind & 1)) return;
    plan.met++;
    call->due = plan.mode != RECORD && (plan.persistent ? plan.met >= plan.at : plan.met == plan.at);
    if (!call->due) return;
    if (plan.mode == KILL) {
        call->entry.injected = 1;
        write_down(call, NULL, 0);
        syscall(SYS_kill, getpid(), SIGKILL);
    }
    if (plan.mode == PAUSE) {
        char byte = '.';
        syscall(SYS_write, plan.notify, &byte, 1);
        while (syscall(SYS_read, plan.wait, &byte, 1) < 0 && errno == EINTR) { }
    }
}

static void begin_named(struct call *call, enum kind kind, int folder, const char *name)
{
    memset(&call->entry, 0, sizeof call->entry);
    call->kind = kind;
    call->active = call->due = 0;
    call->path[0] = call->path_new[0] = 0;
    if (!started || !name || !path_of_name(folder, name, call->path) || !is_below(call->path)) return;
    meet(call);
    call->entry.folder = inode_of_folder(call->path);
    call->entry.inode = inode_of(-1, call->path);
}

static void begin(struct call *call, enum kind kind, int descriptor)
{
    memset(&call->entry, 0, sizeof call->entry);
    call->kind = kind;
    call->active = call->due = 0;
    call->path[0] = call->path_new[0] = 0;
    if (!started || !path_of_descriptor(descriptor, call->path) || !is_below(call->path)) return;
    meet(call);
    call->entry.inode = inode_of(descriptor, NULL);
}

static int fails(struct call *call) { return call->due && plan.mode == FAIL; }

static size_t shortened(struct call *call, size_t size)
{
    if (!call->due || plan.mode != SHORT || size < 2) return size;
    call->entry.injected = 1;
    return size / 2;
}

/* Write the call down with its result; a failure that is due takes its place. */
static long end(struct call *call, long result, const void *data, size_t size)
{
    int error = errno;
    if (!call->active) return result;
    if (call->due && (plan.mode == FAIL || plan.mode == LATE)) {
        call->entry.injected = 1;
        /* A late failure: what was done stays done, and stands in the record as done. */
        if (plan.mode == LATE) { call->entry.result = result; write_down(call, data, size); }
        error = plan.error;
        result = -1;
    }
    if (!(call->entry.injected && plan.mode == LATE)) {
        call->entry.result = result;
        call->entry.error = result < 0 ? error : 0;
        write_down(call, data, result < 0 ? 0 : size);
    }
    pthread_mutex_unlock(&turn);
    errno = error;
    return result;
}

/* -- the control, called through ctypes ----------------------------------------------------------------------- */

void interposer_start(const char *folder, const char *left_out, int descriptor)
{
    snprintf(root, sizeof root, "%s", folder);
    snprintf(apart, sizeof apart, "%s", left_out);
    root_bytes = strlen(root);
    apart_bytes = strlen(apart);
    log_descriptor = descriptor;
    memset(&plan, 0, sizeof plan);
    started = 1;
}

void interposer_arm(int mode, long at, int error, int persistent, uint64_t kinds, int notify, int wait)
{
    plan.mode = mode;
    plan.at = at;
    plan.error = error;
    plan.persistent = persistent;
    plan.kinds = kinds;
    plan.notify = notify;
    plan.wait = wait;
    plan.met = 0;
}

void interposer_stop(void) { started = 0; }

/* Leave the disk in peace everywhere: a sync is written down as asked for, and not done. */
void interposer_quick(int skip_syncs) { quick = skip_syncs; }

void interposer_mark(const char *text)
{
    if (!started) return;
    struct call call;
    memset(&call, 0, sizeof call);
    call.kind = MARK;
    snprintf(call.path, sizeof call.path, "%s", text);
    pthread_mutex_lock(&turn);
    write_down(&call, NULL, 0);
    pthread_mutex_unlock(&turn);
}

/* -- opening and closing -------------------------------------------------------------------------------------- */

static int open_any(int folder, const char *name, int flags, mode_t mode)
{
    struct call call;
    begin_named(&call, flags & O_CREAT ? CREATE : OPEN, folder, name);
    if (!call.active) return syscall(SYS_openat, folder, name, flags, mode);
    uint64_t before = call.entry.inode;
    /* A late failure of an opening would leak the descriptor of a file that nobody knows of: it is one before. */
    if (call.due && (plan.mode == FAIL || plan.mode == LATE)) {
        call.entry.injected = 1;
        call.entry.result = -1;
        call.entry.error = plan.error;
        write_down(&call, NULL, 0);
        pthread_mutex_unlock(&turn);
        errno = plan.error;
        return -1;
    }
    int descriptor = syscall(SYS_openat, folder, name, flags, mode);
    int error = errno;
    if (descriptor >= 0) {
        struct stat found;
        syscall(SYS_newfstatat, descriptor, "", &found, AT_EMPTY_PATH);
        call.entry.inode = found.st_ino;
        call.entry.mode = found.st_mode;
        /* 1: made now; 2: emptied. */
        call.entry.offset = (flags & O_CREAT) && !before ? 1 : flags & O_TRUNC ? 2 : 0;
    }
    errno = error;
    return end(&call, descriptor, NULL, 0);
}

#define MODE_OF(flags, last) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | __O_TMPFILE)) { \
        va_list rest; \
        va_start(rest, last); \
        mode = va_arg(rest, unsigned); \
        va_end(rest); \
    }

int open(const char *name, int flags, ...) { MODE_OF(flags, flags) return open_any(AT_FDCWD, name, flags, mode); }
int open64(const char *name, int flags, ...) { MODE_OF(flags, flags) return open_any(AT_FDCWD, name, flags, mode); }
int openat(int folder, const char *name, int flags, ...) { MODE_OF(flags, flags) return open_any(folder, name, flags, mode); }
int openat64(int folder, const char *name, int flags, ...) { MODE_OF(flags, flags) return open_any(folder, name, flags, mode); }
int __open_2(const char *name, int flags) { return open_any(AT_FDCWD, name, flags, 0); }
int __open64_2(const char *name, int flags) { return open_any(AT_FDCWD, name, flags, 0); }
int __openat_2(int folder, const char *name, int flags) { return open_any(folder, name, flags, 0); }
int __openat64_2(int folder, const char *name, int flags) { return open_any(folder, name, flags, 0); }

int close(int descriptor)
{
    struct call call;
    begin(&call, CLOSE, descriptor);
    /* Linux closes the descriptor whatever it answers: a failure is always a late one. */
    return end(&call, syscall(SYS_close, descriptor), NULL, 0);
}

/* -- bytes ---------------------------------------------------------------------------------------------------- */

static ssize_t write_any(int descriptor, const void *bytes, size_t size, off_t at, int here)
{
    struct call call;
    begin(&call, WRITE, descriptor);
    if (call.active) {
        call.entry.offset = here ? syscall(SYS_lseek, descriptor, 0, SEEK_CUR) : at;
        size = shortened(&call, size);
    }
    errno = plan.error;
    long done = -1;
    if (!fails(&call))
        done = here ? syscall(SYS_write, descriptor, bytes, size)
                    : syscall(SYS_pwrite64, descriptor, bytes, size, at);
    call.entry.length = done < 0 ? 0 : done;
    return end(&call, done, bytes, done < 0 ? 0 : done);
}

ssize_t write(int descriptor, const void *bytes, size_t size) { return write_any(descriptor, bytes, size, 0, 1); }
ssize_t pwrite(int descriptor, const void *bytes, size_t size, off_t at) { return write_any(descriptor, bytes, size, at, 0); }
ssize_t pwrite64(int descriptor, const void *bytes, size_t size, off64_t at) { return write_any(descriptor, bytes, size, at, 0); }

static ssize_t read_any(int descriptor, void *bytes, size_t size, off_t at, int here)
{
    struct call call;
    begin(&call, READ, descriptor);
    size = shortened(&call, size);
    errno = plan.error;
    long done = -1;
    if (!fails(&call))
        done = here ? syscall(SYS_read, descriptor, bytes, size) : syscall(SYS_pread64, descriptor, bytes, size, at);
    return end(&call, done, NULL, 0);
}

ssize_t read(int descriptor, void *bytes, size_t size) { return read_any(descriptor, bytes, size, 0, 1); }
ssize_t pread(int descriptor, void *bytes, size_t size, off_t at) { return read_any(descriptor, bytes, size, at, 0); }
ssize_t pread64(int descriptor, void *bytes, size_t size, off64_t at) { return read_any(descriptor, bytes, size, at, 0); }

static int truncate_any(int descriptor, off_t size)
{
    struct call call;
    begin(&call, TRUNCATE, descriptor);
    call.entry.length = size;
    errno = plan.error;
    return end(&call, fails(&call) ? -1 : syscall(SYS_ftruncate, descriptor, size), NULL, 0);
}

int ftruncate(int descriptor, off_t size) { return truncate_any(descriptor, size); }
int ftruncate64(int descriptor, off64_t size) { return truncate_any(descriptor, size); }

static int sync_any(int descriptor, long number)
{
    struct call call;
    begin(&call, SYNC, descriptor);
    errno = plan.error;
    return end(&call, fails(&call) ? -1 : quick ? 0 : syscall(number, descriptor), NULL, 0);
}

int fsync(int descriptor) { return sync_any(descriptor, SYS_fsync); }
int fdatasync(int descriptor) { return sync_any(descriptor, SYS_fdatasync); }

/* -- names ---------------------------------------------------------------------------------------------------- */

static int rename_any(int folder, const char *old, int folder_new, const char *new, unsigned flags)
{
    struct call call;
    begin_named(&call, RENAME, folder, old);
    if (call.active && path_of_name(folder_new, new, call.path_new))
        call.entry.folder_new = inode_of_folder(call.path_new);
    errno = plan.error;
    return end(&call, fails(&call) ? -1 : syscall(SYS_renameat2, folder, old, folder_new, new, flags), NULL, 0);
}

int rename(const char *old, const char *new) { return rename_any(AT_FDCWD, old, AT_FDCWD, new, 0); }
int renameat(int folder, const char *old, int folder_new, const char *new) { return rename_any(folder, old, folder_new, new, 0); }
int renameat2(int folder, const char *old, int folder_new, const char *new, unsigned flags) { return rename_any(folder, old, folder_new, new, flags); }

static int unlink_any(int folder, const char *name, int flags)
{
    struct call call;
    begin_named(&call, UNLINK, folder, name);
    errno = plan.error;
    return end(&call, fails(&call) ? -1 : syscall(SYS_unlinkat, folder, name, flags), NULL, 0);
}

int unlink(const char *name) { return unlink_any(AT_FDCWD, name, 0); }
int unlinkat(int folder, const char *name, int flags) { return unlink_any(folder, name, flags); }
int rmdir(const char *name) { return unlink_any(AT_FDCWD, name, AT_REMOVEDIR); }

static int mkdir_any(int folder, const char *name, mode_t mode)
{
    struct call call;
    begin_named(&call, MKDIR, folder, name);
    errno = plan.error;
    int result = fails(&call) ? -1 : syscall(SYS_mkdirat, folder, name, mode);
    int error = errno;
    if (call.active) {
        call.entry.inode = inode_of(-1, call.path);
        call.entry.mode = mode;
    }
    errno = error;
    return end(&call, result, NULL, 0);
}

int mkdir(const char *name, mode_t mode) { return mkdir_any(AT_FDCWD, name, mode); }
int mkdirat(int folder, const char *name, mode_t mode) { return mkdir_any(folder, name, mode); }

/* -- what the program does not do: written down, so that the simulator can refuse to guess ---------------------- */

#define OTHER_NAMED(folder, name, ...) \
    struct call call; \
    begin_named(&call, OTHER, folder, name); \
    errno = plan.error; \
    return end(&call, fails(&call) ? -1 : syscall(__VA_ARGS__), NULL, 0)

int link(const char *old, const char *new) { OTHER_NAMED(AT_FDCWD, new, SYS_linkat, AT_FDCWD, old, AT_FDCWD, new, 0); }
int linkat(int f, const char *old, int g, const char *new, int flags) { OTHER_NAMED(g, new, SYS_linkat, f, old, g, new, flags); }
int symlink(const char *to, const char *name) { OTHER_NAMED(AT_FDCWD, name, SYS_symlinkat, to, AT_FDCWD, name); }
int symlinkat(const char *to, int folder, const char *name) { OTHER_NAMED(folder, name, SYS_symlinkat, to, folder, name); }
int truncate(const char *name, off_t size) { OTHER_NAMED(AT_FDCWD, name, SYS_truncate, name, size); }
int truncate64(const char *name, off64_t size) { OTHER_NAMED(AT_FDCWD, name, SYS_truncate, name, size); }

/* -- looking, listing, locking, mapping ------------------------------------------------------------------------- */

static int stat_any(int folder, const char *name, struct stat *found, int flags)
{
    struct call call;
    if (flags & AT_EMPTY_PATH) begin(&call, STAT, folder);
    else begin_named(&call, STAT, folder, name);
    errno = plan.error;
    return end(&call, fails(&call) ? -1 : syscall(SYS_newfstatat, folder, name, found, flags), NULL, 0);
}

int stat(const char *name, struct stat *found) { return stat_any(AT_FDCWD, name, found, 0); }
int lstat(const char *name, struct stat *found) { return stat_any(AT_FDCWD, name, found, AT_SYMLINK_NOFOLLOW); }
int fstat(int descriptor, struct stat *found) { return stat_any(descriptor, "", found, AT_EMPTY_PATH); }
int fstatat(int folder, const char *name, struct stat *found, int flags) { return stat_any(folder, name, found, flags); }
int stat64(const char *name, struct stat64 *found) { return stat_any(AT_FDCWD, name, (struct stat *)found, 0); }
int lstat64(const char *name, struct stat64 *found) { return stat_any(AT_FDCWD, name, (struct stat *)found, AT_SYMLINK_NOFOLLOW); }
int fstat64(int descriptor, struct stat64 *found) { return stat_any(descriptor, "", (struct stat *)found, AT_EMPTY_PATH); }
int fstatat64(int folder, const char *name, struct stat64 *found, int flags) { return stat_any(folder, name, (struct stat *)found, flags); }

DIR *opendir(const char *name)
{
    REAL(opendir);
    struct call call;
    begin_named(&call, LIST, AT_FDCWD, name);
    /* Nothing can be done late to a listing; `end` would leave it open. */
    int failing = call.due && (plan.mode == FAIL || plan.mode == LATE);
    errno = plan.error;
    if (call.active) pthread_mutex_unlock(&turn);
    DIR *found = failing ? NULL : real(name);
    int error = errno;
    if (call.active) pthread_mutex_lock(&turn);
    errno = error;
    end(&call, found ? 0 : -1, NULL, 0);
    return found;
}

DIR *fdopendir(int descriptor)
{
    REAL(fdopendir);
    struct call call;
    begin(&call, LIST, descriptor);
    int failing = call.due && (plan.mode == FAIL || plan.mode == LATE);
    errno = plan.error;
    if (call.active) pthread_mutex_unlock(&turn);
    DIR *found = failing ? NULL : real(descriptor);
    int error = errno;
    if (call.active) pthread_mutex_lock(&turn);
    errno = error;
    end(&call, found ? 0 : -1, NULL, 0);
    return found;
}

/* Giving a lock back asks nothing of the disk: it is not looked at. */
int flock(int descriptor, int operation)
{
    if (operation & LOCK_UN) return syscall(SYS_flock, descriptor, operation);
    struct call call;
    begin(&call, LOCK, descriptor);
    errno = plan.error;
    return end(&call, fails(&call) ? -1 : syscall(SYS_flock, descriptor, operation), NULL, 0);
}

static int control_any(int descriptor, int command, void *argument)
{
    int locks = (command == F_SETLK || command == F_SETLKW) && ((struct flock *)argument)->l_type != F_UNLCK;
    if (!locks) return syscall(SYS_fcntl, descriptor, command, argument);
    struct call call;
    begin(&call, LOCK, descriptor);
    errno = plan.error;
    return end(&call, fails(&call) ? -1 : syscall(SYS_fcntl, descriptor, command, argument), NULL, 0);
}

#define ARGUMENT_OF(last) \
    va_list rest; \
    va_start(rest, last); \
    void *argument = va_arg(rest, void *); \
    va_end(rest)

int fcntl(int descriptor, int command, ...) { ARGUMENT_OF(command); return control_any(descriptor, command, argument); }
int fcntl64(int descriptor, int command, ...) { ARGUMENT_OF(command); return control_any(descriptor, command, argument); }

static void *map_any(void *at, size_t size, int protection, int flags, int descriptor, off_t offset)
{
    if (!started || descriptor < 0) return (void *)syscall(SYS_mmap, at, size, protection, flags, descriptor, offset);
    struct call call;
    begin(&call, MAP, descriptor);
    /* 1: what is written through the mapping reaches the file without a call. */
    call.entry.offset = (flags & MAP_SHARED) && (protection & PROT_WRITE);
    int failing = call.due && (plan.mode == FAIL || plan.mode == LATE);
    errno = plan.error;
    void *found = failing ? MAP_FAILED : (void *)syscall(SYS_mmap, at, size, protection, flags, descriptor, offset);
    end(&call, found == MAP_FAILED ? -1 : 0, NULL, 0);
    return found;
}

void *mmap(void *at, size_t size, int protection, int flags, int descriptor, off_t offset) { return map_any(at, size, protection, flags, descriptor, offset); }
void *mmap64(void *at, size_t size, int protection, int flags, int descriptor, off64_t offset) { return map_any(at, size, protection, flags, descriptor, offset); }
