/*
 * The library is loaded and unloaded many times, and its process is forked.
 *
 *   cc lifecycle.c $(pkg-config --cflags dmlvk) -o lifecycle
 *   ./lifecycle [DEVICE [LIBRARY]]
 *
 * - A child of fork() cannot use its parent's device: every call fails with DXGI_ERROR_DEVICE_REMOVED. It can drop
 *   the device, and ends as any other process. The parent goes on.
 * - Loading, running and unloading again and again takes no more memory.
 */
#define _GNU_SOURCE
#include <dmlvk/dmlvk.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CYCLES = 50, SETTLED = 10 };

/* The most that memory may grow from the 10th cycle to the last: less than 64 KiB for each. */
static const long MOST_GROWTH = 40L * 64 * 1024;

static const HRESULT DEVICE_REMOVED = (HRESULT)0x887A0005;

struct library {
    void *handle;
    __typeof__(&dmlvk_last_message) last_message;
    __typeof__(&dmlvk_create_device) create_device;
    __typeof__(&dmlvk_destroy_device) destroy_device;
    __typeof__(&dmlvk_compile_operator) compile_operator;
    __typeof__(&dmlvk_create_buffer) create_buffer;
    __typeof__(&dmlvk_execute_operator) execute_operator;
    __typeof__(&dmlvk_read_buffer) read_buffer;
};

struct work {
    DmlVkDevice device;
    DmlVkOperator compiled;
    DmlVkBuffer buffer;
};

#define FIND(library, name)                                                                        \
    do {                                                                                           \
        *(void **)&(library)->name = dlsym((library)->handle, "dmlvk_" #name);                     \
        if ((library)->name == NULL) {                                                             \
            fprintf(stderr, "dmlvk_" #name " is not exported\n");                                  \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#define CHECK(library, call)                                                                       \
    do {                                                                                           \
        if (FAILED((library)->call)) {                                                             \
            fprintf(stderr, "%s: %s\n", #call, (library)->last_message());                         \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static struct library load(const char *path)
{
    struct library library;
    library.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library.handle == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    FIND(&library, last_message);
    FIND(&library, create_device);
    FIND(&library, destroy_device);
    FIND(&library, compile_operator);
    FIND(&library, create_buffer);
    FIND(&library, execute_operator);
    FIND(&library, read_buffer);
    return library;
}

static struct work make(const struct library *library, const char *device)
{
    struct work work;
    DmlVkDeviceDesc device_desc = {0};
    device_desc.struct_size = sizeof device_desc;
    device_desc.minimum_feature_level = DML_FEATURE_LEVEL_5_1;
    device_desc.device = device;
    CHECK(library, create_device(&device_desc, &work.device));
    UINT sizes[] = {2, 2};
    DML_BUFFER_TENSOR_DESC buffer_desc = {0};
    buffer_desc.DataType = DML_TENSOR_DATA_TYPE_INT32;
    buffer_desc.DimensionCount = 2;
    buffer_desc.Sizes = sizes;
    buffer_desc.TotalTensorSizeInBytes = 4 * sizeof(INT32);
    DML_TENSOR_DESC tensor_desc = {DML_TENSOR_TYPE_BUFFER, &buffer_desc};
    DML_DIAGONAL_MATRIX_OPERATOR_DESC diagonal = {&tensor_desc, 0, 7.0f};
    DML_OPERATOR_DESC desc = {DML_OPERATOR_DIAGONAL_MATRIX, &diagonal};
    CHECK(library, compile_operator(work.device, &desc, DML_EXECUTION_FLAG_NONE, &work.compiled));
    CHECK(library, create_buffer(work.device, 4 * sizeof(INT32), &work.buffer));
    return work;
}

static HRESULT execute(const struct library *library, const struct work *work)
{
    DmlVkBufferBinding output = {work->buffer, 0, 4 * sizeof(INT32)};
    return library->execute_operator(work->compiled, NULL, 0, &output, 1);
}

static void run(const struct library *library, const struct work *work)
{
    const INT32 expected[4] = {7, 0, 0, 7};
    INT32 result[4] = {0};
    if (FAILED(execute(library, work))) {
        fprintf(stderr, "execute: %s\n", library->last_message());
        exit(1);
    }
    CHECK(library, read_buffer(work->buffer, 0, result, sizeof result));
    if (memcmp(result, expected, sizeof result) != 0) {
        fprintf(stderr, "%d %d %d %d\n", result[0], result[1], result[2], result[3]);
        exit(1);
    }
}

/* The child's exit status: 0 if every call of the parent's device was refused. */
static int in_child(const struct library *library, const struct work *work)
{
    INT32 result[4];
    DmlVkBuffer another;
    const HRESULT found[] = {
        execute(library, work),
        library->read_buffer(work->buffer, 0, result, sizeof result),
        library->create_buffer(work->device, 16, &another),
    };
    int wrong = 0;
    for (size_t at = 0; at < sizeof found / sizeof *found; at++) {
        if (found[at] != DEVICE_REMOVED) {
            fprintf(stderr, "child: call %zu gave 0x%08x\n", at, (unsigned)found[at]);
            wrong = 1;
        }
    }
    printf("child: %s\n", library->last_message());
    CHECK(library, destroy_device(work->device));
    return wrong;
}

static void fork_once(const char *path, const char *device)
{
    struct library library = load(path);
    struct work work = make(&library, device);
    run(&library, &work);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        /* A child that waits for a thread which it does not have is ended. */
        alarm(60);
        exit(in_child(&library, &work));
    }
    int status = 1;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        fprintf(stderr, "the child ended with status 0x%x\n", (unsigned)status);
        exit(1);
    }
    run(&library, &work);
    CHECK(&library, destroy_device(work.device));
    dlclose(library.handle);
}

/* The bytes of physical memory that the process has. */
static long resident(void)
{
    long pages[2] = {0};
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld %ld", &pages[0], &pages[1]) != 2) {
        fprintf(stderr, "/proc/self/statm cannot be read\n");
        exit(1);
    }
    fclose(file);
    return pages[1] * sysconf(_SC_PAGESIZE);
}

int main(int argc, char **argv)
{
    const char *device = argc > 1 ? argv[1] : NULL;
    const char *path = argc > 2 ? argv[2] : "libdmlvk.so";
    fork_once(path, device);
    long settled = 0;
    for (int cycle = 1; cycle <= CYCLES; cycle++) {
        struct library library = load(path);
        struct work work = make(&library, device);
        run(&library, &work);
        CHECK(&library, destroy_device(work.device));
        if (dlclose(library.handle) != 0) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        if (cycle == SETTLED) {
            settled = resident();
        }
    }
    long growth = resident() - settled;
    printf("%d cycles: %+ld KiB after the first %d\n", CYCLES, growth / 1024, SETTLED);
    return growth > MOST_GROWTH;
}
