/* SPDX-License-Identifier: Apache-2.0 */
/*
 * old_libc.c - functions that glibc 2.17 does not have, for the shared objects of a release.
 *
 * These are linked with the stand-ins of scripts/gen-old-libc, which have only what glibc 2.17 has.
 * What is here is hidden: it is used by the shared object itself only. The calls are those of the
 * kernel; its struct stat is that of the C library on all 64-bit machines that we know.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int fstat(int fd, struct stat *ret_stat)
{
	return (int)syscall(SYS_fstat, fd, ret_stat);
}

int stat(const char *path, struct stat *ret_stat)
{
	return (int)syscall(SYS_newfstatat, AT_FDCWD, path, ret_stat, 0);
}

ssize_t getrandom(void *to, size_t bytes, unsigned flags)
{
	return syscall(SYS_getrandom, to, bytes, flags);
}

int memfd_create(const char *name, unsigned flags)
{
	return (int)syscall(SYS_memfd_create, name, flags);
}

void *reallocarray(void *old, size_t count, size_t bytes)
{
	size_t all;
	if (__builtin_mul_overflow(count, bytes, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(old, all);
}

#define NAME(error) [error] = #error

/* clang-format off */
static const char *const errno_names[] = {
	[0] = "0",
	NAME(EPERM), NAME(ENOENT), NAME(ESRCH), NAME(EINTR),
	NAME(EIO), NAME(ENXIO), NAME(E2BIG), NAME(ENOEXEC),
	NAME(EBADF), NAME(ECHILD), NAME(EAGAIN), NAME(ENOMEM),
	NAME(EACCES), NAME(EFAULT), NAME(ENOTBLK), NAME(EBUSY),
	NAME(EEXIST), NAME(EXDEV), NAME(ENODEV), NAME(ENOTDIR),
	NAME(EISDIR), NAME(EINVAL), NAME(ENFILE), NAME(EMFILE),
	NAME(ENOTTY), NAME(ETXTBSY), NAME(EFBIG), NAME(ENOSPC),
	NAME(ESPIPE), NAME(EROFS), NAME(EMLINK), NAME(EPIPE),
	NAME(EDOM), NAME(ERANGE), NAME(EDEADLK), NAME(ENAMETOOLONG),
	NAME(ENOLCK), NAME(ENOSYS), NAME(ENOTEMPTY), NAME(ELOOP),
	NAME(ENOMSG), NAME(EIDRM), NAME(ECHRNG), NAME(EL2NSYNC),
	NAME(EL3HLT), NAME(EL3RST), NAME(ELNRNG), NAME(EUNATCH),
	NAME(ENOCSI), NAME(EL2HLT), NAME(EBADE), NAME(EBADR),
	NAME(EXFULL), NAME(ENOANO), NAME(EBADRQC), NAME(EBADSLT),
	NAME(EBFONT), NAME(ENOSTR), NAME(ENODATA), NAME(ETIME),
	NAME(ENOSR), NAME(ENONET), NAME(ENOPKG), NAME(EREMOTE),
	NAME(ENOLINK), NAME(EADV), NAME(ESRMNT), NAME(ECOMM),
	NAME(EPROTO), NAME(EMULTIHOP), NAME(EDOTDOT), NAME(EBADMSG),
	NAME(EOVERFLOW), NAME(ENOTUNIQ), NAME(EBADFD), NAME(EREMCHG),
	NAME(ELIBACC), NAME(ELIBBAD), NAME(ELIBSCN), NAME(ELIBMAX),
	NAME(ELIBEXEC), NAME(EILSEQ), NAME(ERESTART), NAME(ESTRPIPE),
	NAME(EUSERS), NAME(ENOTSOCK), NAME(EDESTADDRREQ), NAME(EMSGSIZE),
	NAME(EPROTOTYPE), NAME(ENOPROTOOPT), NAME(EPROTONOSUPPORT), NAME(ESOCKTNOSUPPORT),
	NAME(EOPNOTSUPP), NAME(EPFNOSUPPORT), NAME(EAFNOSUPPORT), NAME(EADDRINUSE),
	NAME(EADDRNOTAVAIL), NAME(ENETDOWN), NAME(ENETUNREACH), NAME(ENETRESET),
	NAME(ECONNABORTED), NAME(ECONNRESET), NAME(ENOBUFS), NAME(EISCONN),
	NAME(ENOTCONN), NAME(ESHUTDOWN), NAME(ETOOMANYREFS), NAME(ETIMEDOUT),
	NAME(ECONNREFUSED), NAME(EHOSTDOWN), NAME(EHOSTUNREACH), NAME(EALREADY),
	NAME(EINPROGRESS), NAME(ESTALE), NAME(EUCLEAN), NAME(ENOTNAM),
	NAME(ENAVAIL), NAME(EISNAM), NAME(EREMOTEIO), NAME(EDQUOT),
	NAME(ENOMEDIUM), NAME(EMEDIUMTYPE), NAME(ECANCELED), NAME(ENOKEY),
	NAME(EKEYEXPIRED), NAME(EKEYREVOKED), NAME(EKEYREJECTED), NAME(EOWNERDEAD),
	NAME(ENOTRECOVERABLE), NAME(ERFKILL), NAME(EHWPOISON),
};
/* clang-format on */

const char *strerrorname_np(int number)
{
	size_t count = sizeof(errno_names) / sizeof(*errno_names);
	return number >= 0 && (size_t)number < count ? errno_names[number] : NULL;
}
