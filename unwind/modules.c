#include "unwind/modules.h"

bool modules_find(uint64_t address, struct cfi_object *ret_object)
{
	(void)address;
	(void)ret_object;
	return false;
}
