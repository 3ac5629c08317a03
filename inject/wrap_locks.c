/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrap_locks.c - locks that are recorded only if they are already held: tried first, and timed only
 * on the slow path.
 *
 * A free lock costs one successful attempt, and is counted. The holder of a contended lock is read
 * from glibc's own record of the owner, so unlocks need not be traced to name the thread that
 * others wait for.
 */
#define _GNU_SOURCE
#include "inject/fn.h"
#include "tracer/base/libc.h"

/* Return field `a` of a lock's record: the result, and the holder's tid in the upper half. */
static uint64_t with_holder(int result, uint32_t holder)
{
	return (uint64_t)(uint32_t)result | (uint64_t)holder << 32;
}

static inline bool tries_first(void)
{
	return gate_is_open_for_osrt() && !session.config.all_locks &&
		(thread_self.lane || thread_attach(&thread_self));
}

/* The slow path of a lock, timed if the options ask for that. */
#define LOCK_LONG(name, TYPE, HOLDER)                                               \
	static __attribute__((cold, noinline)) int name##_timed(TYPE *t_lock)       \
	{                                                                           \
		struct call t_call;                                                 \
		uint32_t t_holder = (uint32_t)(HOLDER);                             \
		if (!call_begin(&t_call, FN_##name))                                \
			return REAL(name)(t_lock);                                  \
		int t_result = REAL(name)(t_lock);                                  \
		osrt_end(&t_call, FN_##name, with_holder(t_result, t_holder),       \
			osrt_object(FN_BITS(t_lock), 0));                           \
		return t_result;                                                    \
	}                                                                           \
	static __attribute__((noinline)) int name##_long(TYPE *t_lock)              \
	{                                                                           \
		return osrt_forwards() ? REAL(name)(t_lock) : name##_timed(t_lock); \
	}

/* TRY: an expression that is true when the lock was taken, or failed for good; it stores the
 * result in t_result. */
#define LOCK_WRAPPER(name, TYPE, TRY, HOLDER)      \
	LOCK_LONG(name, TYPE, HOLDER)              \
	WRAPPER(int, name, (TYPE * t_lock))        \
	{                                          \
		int t_result;                      \
		if (tries_first() && (TRY)) {      \
			osrt_count_now(FN_##name); \
			return t_result;           \
		}                                  \
		return name##_long(t_lock);        \
	}

LOCK_LONG(pthread_mutex_lock, pthread_mutex_t, t_lock->__data.__owner)

static __attribute__((noinline)) int mutex_lock_timed(pthread_mutex_t *t_lock)
{
	struct call call;
	uint64_t object = FN_BITS(t_lock);
	uint32_t holder = (uint32_t)t_lock->__data.__owner;
	if (!osrt_fast_begin(&call, FN_pthread_mutex_lock))
		return pthread_mutex_lock_long(t_lock);
	return (int)osrt_fast_end(&call, FN_pthread_mutex_lock, false, false,
		(uint32_t)real.fn_pthread_mutex_lock(t_lock) | (uint64_t)holder << 32, object);
}

static int mutex_lock_tried(pthread_mutex_t *t_lock);

static __attribute__((cold, noinline)) int mutex_lock_rare(pthread_mutex_t *t_lock)
{
	return gate_is_open_for_osrt() ? mutex_lock_tried(t_lock) : pthread_mutex_lock_long(t_lock);
}

static __attribute__((noinline)) int mutex_lock_closed(pthread_mutex_t *t_lock)
{
	if (!osrt_forwards() || !real.fn_pthread_mutex_lock)
		return mutex_lock_rare(t_lock);
	return real.fn_pthread_mutex_lock(t_lock);
}

/* Handle by far the most frequent call: a free lock costs one attempt and one addition. */
static __attribute__((noinline)) int mutex_lock_tried(pthread_mutex_t *t_lock)
{
	if (__builtin_expect(!GATE_LOOKS_OPEN(osrt_mask), 0))
		return mutex_lock_closed(t_lock);
	if (__builtin_expect(!thread_self.lane && !thread_attach(&thread_self), 0))
		return REAL(pthread_mutex_lock)(t_lock);
	int result = REAL(pthread_mutex_trylock)(t_lock);
	if (__builtin_expect(result == EBUSY, 0))
		return mutex_lock_timed(t_lock);
	osrt_count_now(FN_pthread_mutex_lock);
	return result;
}

WRAPPER(int, pthread_mutex_lock, (pthread_mutex_t * t_lock))
{
	return session.config.all_locks ? mutex_lock_timed(t_lock) : mutex_lock_tried(t_lock);
}

LOCK_WRAPPER(mtx_lock, mtx_t, (t_result = REAL(mtx_trylock)(t_lock)) != thrd_busy,
	((pthread_mutex_t *)t_lock)->__data.__owner)
LOCK_WRAPPER(pthread_rwlock_rdlock, pthread_rwlock_t,
	(t_result = REAL(pthread_rwlock_tryrdlock)(t_lock)) != EBUSY, t_lock->__data.__cur_writer)
LOCK_WRAPPER(pthread_rwlock_wrlock, pthread_rwlock_t,
	(t_result = REAL(pthread_rwlock_trywrlock)(t_lock)) != EBUSY, t_lock->__data.__cur_writer)

LOCK_WRAPPER(pthread_spin_lock, pthread_spinlock_t,
	(t_result = REAL(pthread_spin_trylock)(t_lock)) != EBUSY, 0)

/* Try the semaphore. The attempt must act on a pending cancellation if sem_wait would. */
static bool semaphore_taken(sem_t *semaphore)
{
	int error = errno;
	if (libc.pthread_testcancel)
		libc.pthread_testcancel();
	if (REAL(sem_trywait)(semaphore) == 0)
		return true;
	errno = error;
	return false;
}

WRAPPER(int, sem_wait, (sem_t * t_semaphore))
{
	struct call call;
	if (tries_first() && semaphore_taken(t_semaphore)) {
		osrt_count_now(FN_sem_wait);
		return 0;
	}
	if (osrt_forwards() || !call_begin(&call, FN_sem_wait))
		return REAL(sem_wait)(t_semaphore);
	int result = REAL(sem_wait)(t_semaphore);
	osrt_end(&call, FN_sem_wait, with_holder(result, 0),
		osrt_object(FN_BITS(t_semaphore), FN_ERRNO(result)));
	return result;
}
