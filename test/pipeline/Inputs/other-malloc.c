/* other-malloc.c - memory at other addresses, for tests of determinism.
 *
 * Preloaded, it allocates memory from the top of one reserve downwards, with gaps drawn from OTHER_MALLOC_SEED, and never
 * frees it. So hashes and the order of pointers differ from those with the C library's allocator. */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const size_t reserve = (size_t)1 << 36;
static char *bottom, *top;
static uint64_t state;
static char lock;

static void *take(size_t alignment, size_t size) {
  while (__atomic_test_and_set(&lock, __ATOMIC_ACQUIRE))
    ;
  if (!bottom) {
    const char *seed = getenv("OTHER_MALLOC_SEED");
    state = 0x9e3779b97f4a7c15u;
    for (; seed && *seed; ++seed)
      state = state * 6364136223846793005u + (unsigned char)*seed;
    bottom = mmap(NULL, reserve, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bottom == MAP_FAILED)
      _Exit(99);
    top = bottom + reserve;
  }
  state = state * 6364136223846793005u + 1442695040888963407u;
  if (alignment < 16)
    alignment = 16;
  uintptr_t at = (uintptr_t)top - size - (state >> 60) * 16;
  at &= ~(uintptr_t)(alignment - 1);
  /* In front of the memory stands its size. */
  top = (char *)at - 16;
  void *result = (void *)at;
  if (top < bottom + size)
    _Exit(99);
  memcpy(top, &size, sizeof(size));
  __atomic_clear(&lock, __ATOMIC_RELEASE);
  return result;
}

void *malloc(size_t size) { return take(16, size); }
void free(void *memory) { (void)memory; }
void *calloc(size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes))
    return NULL;
  return take(16, bytes); /* fresh pages are zero, and none is used twice */
}
void *realloc(void *memory, size_t size) {
  void *result = take(16, size);
  if (memory) {
    size_t old;
    memcpy(&old, (char *)memory - 16, sizeof(old));
    memcpy(result, memory, old < size ? old : size);
  }
  return result;
}
void *memalign(size_t alignment, size_t size) { return take(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { return take(alignment, size); }
int posix_memalign(void **result, size_t alignment, size_t size) {
  *result = take(alignment, size);
  return 0;
}
size_t malloc_usable_size(void *memory) {
  size_t size = 0;
  if (memory)
    memcpy(&size, (char *)memory - 16, sizeof(size));
  return size;
}
