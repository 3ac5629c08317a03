/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reader_nvtx_filter.c - tests of the NVTX filter language: every rule, on stacks of ranges,
 * and errors with their positions.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader/nvtx/filter.h"
#include "tap.h"

/* Return whether the filter `text` matches the stack: ranges separated by '|', outermost first, all
 * in `domain`. */
static bool holds(const char *text, const char *domain, const char *stack)
{
	struct nvtx_filter f;
	struct nvtx_stack top = {.holds = 0}, next;
	const char *why;
	size_t at;
	nvtx_filter_init(&f);
	if (nvtx_filter_add(&f, text, false, &at, &why)) {
		printf("# '%s' at %zu: %s\n", text, at, why);
		return false;
	}
	char *copy = strdup(stack), *rest = NULL;
	bool any = false;
	for (char *name = strtok_r(copy, "|", &rest); name; name = strtok_r(NULL, "|", &rest)) {
		nvtx_stack_push(&f, any ? &top : NULL, nvtx_filter_domains(&f, domain),
			nvtx_filter_names(&f, name), &next);
		top = next;
		any = true;
	}
	free(copy);
	bool result = top.holds & 1;
	nvtx_filter_release(&f);
	return result;
}

static void yes(const char *text, const char *stack)
{
	check(holds(text, "", stack), "%s holds in %s", text, stack);
}

static void no(const char *text, const char *stack)
{
	check(!holds(text, "", stack), "%s does not hold in %s", text, stack);
}

/* Check a filter against start/end ranges: `open` lists the open ranges, separated by '|'. */
static bool all_open(const char *text, const char *open)
{
	struct nvtx_filter f;
	const char *why;
	size_t at;
	nvtx_filter_init(&f);
	if (nvtx_filter_add(&f, text, false, &at, &why)) {
		printf("# '%s' at %zu: %s\n", text, at, why);
		return false;
	}
	uint64_t names = 0;
	char *copy = strdup(open), *rest = NULL;
	for (char *name = strtok_r(copy, "|", &rest); name; name = strtok_r(NULL, "|", &rest))
		names |= nvtx_filter_names(&f, name);
	free(copy);
	bool result = nvtx_filter_all_open(&f.expressions[0], names);
	nvtx_filter_release(&f);
	return result;
}

static void push_and_pop(void)
{
	yes("A/", "A");
	yes("A/", "X|A|Y");
	no("A/", "X|AA|Y");
	yes("[A", "A|X");
	no("[A", "X|A");
	yes("A]", "X|A");
	no("A]", "A|X");
	yes("[A]", "A");
	no("[A]", "A|A|X");
	yes("A/B", "X|A|B|Y");
	no("A/B", "A|X|B");
	no("A/B", "B|A");
	yes("A/B/", "A|B|Y");
	yes("A/+/B", "A|X|B");
	no("A/+/B", "A|B");
	no("A/+/B", "A|X|Y|B");
	yes("A/*/B", "A|B");
	yes("A/*/B", "A|X|Y|B|Z");
	no("A/*/B", "B|A");
	yes("[A/+/Z", "A|X|Z|Y");
	no("[A/+/Z", "A|Z");
	yes("C/*/Z]", "X|C|Y|Z");
	no("C/*/Z]", "X|C|Z|Y");
	yes("A/B]", "A|A|B");
	yes("A/*/A/*/B", "A|X|A|B");
	no("A/*/A/*/B", "A|X|B");
	yes("A/+/+/B", "A|X|Y|B");
	yes("A/*/+/B", "A|X|B");
	no("A/*/+/B", "A|B");
	yes("A/B", "A|X|A|B|X");
	no("[A/B", "X|A|B");
	yes("[*/B", "X|B");
	yes("name with blanks/", "name with blanks");
}

/* Check stacks of the report with which NVIDIA documents the language. */
static void published_examples(void)
{
	yes("run_test/", "run_test|daxpy");
	yes("[run_test", "run_test|daxpy");
	yes("daxpy]", "run_test|daxpy");
	no("daxpy]", "run_test|init_data");
	yes("run_test/init_data", "run_test|init_data");
	no("[daxpy", "run_test|daxpy");
	no("run_test/+/daxpy", "run_test|daxpy");
	yes("run_test/*/daxpy", "run_test|daxpy");
	no("run_test", "run_test|daxpy");
}

static void domains(void)
{
	check(holds("D@A/", "D", "A") && !holds("D@A/", "", "A") && !holds("A/", "D", "A"),
		"an expression without a domain means the default one");
	check(holds("my\\@domain@A/*/Z]", "my@domain", "A|B|Z"),
		"the name of a domain may contain '@'");
	check(holds("regex:Dom[a-z]@Range[0-9]/", "Domx", "Range7") &&
			!holds("regex:Dom[a-z]@Range[0-9]/", "DomX", "Range7"),
		"a domain may be a regular expression");
}

static void start_and_end(void)
{
	check(all_open("A", "A|B") && !all_open("A", "B"), "'A' holds while A is open");
	check(all_open("A,B,C", "C|A|X|B") && !all_open("A,B,C", "A|B"),
		"'A,B,C' holds while all three are open");
	check(all_open("A_range\\[i\\]", "A_range[i]"), "escaped brackets are part of a name");
	check(all_open("a\\,b\\/c\\*\\+\\\\", "a,b/c*+\\"),
		"escaped , / * + and backslashes are part of a name");
	check(all_open("regex:[0-9]d@/[0-9]r,R[0-9/]", "1r|R2") &&
			!all_open("regex:[0-9]d@/[0-9]r,R[0-9/]", "1r|Rx"),
		"a regular expression may begin and end with brackets");
	check(!all_open("A/", "A"),
		"an expression of push and pop does not match a range of start and end");
}

static void regular_expressions(void)
{
	yes("regex:^A[0-9]+$/", "A12");
	no("regex:^A[0-9]+$/", "xA12");
	yes("regex:A[0-9]/B", "xA1x|yBy");
	yes("regex:[A.$", "AB|X");
	no("regex:[A.$", "X|AB");
	yes("regex:A/*/B]", "A|x|B");
	yes("regex:a\\/b/", "a/b");
	yes("regex:/[AB]/C", "A|C");
	yes("regex:A/[BC/]", "A|B");
}

static void several(void)
{
	struct nvtx_filter f;
	struct nvtx_stack s;
	const char *why;
	size_t at;
	nvtx_filter_init(&f);
	check(nvtx_filter_passes(&f, 0), "without expressions all events pass");
	nvtx_filter_add(&f, "B/", true, &at, &why);
	check(nvtx_filter_passes(&f, 0) && !nvtx_filter_passes(&f, 1),
		"with excludes only, all other events pass");
	nvtx_filter_add(&f, "A/", false, &at, &why);
	nvtx_filter_add(&f, "C/", false, &at, &why);
	nvtx_stack_push(&f, NULL, nvtx_filter_domains(&f, ""), nvtx_filter_names(&f, "C"), &s);
	check(s.holds == 4 && nvtx_filter_passes(&f, s.holds) && !nvtx_filter_passes(&f, 0) &&
			!nvtx_filter_passes(&f, 5),
		"one matching include is enough, one matching exclude rejects");
	nvtx_filter_release(&f);
}

static void wrong(const char *text, size_t wanted)
{
	struct nvtx_filter f;
	const char *why = NULL;
	size_t at = 999;
	nvtx_filter_init(&f);
	int error = nvtx_filter_add(&f, text, false, &at, &why);
	check(error == -EINVAL && at == wanted && why && !f.count && !f.name_count,
		"'%s' is refused at position %zu: %s", text, at, why ? why : "-");
	nvtx_filter_release(&f);
}

static void errors_have_a_place(void)
{
	char many[400] = "";
	wrong("", 0);
	wrong("@A", 0);
	wrong("D@", 2);
	wrong("D@A@B/", 3);
	wrong("A//B", 2);
	wrong("/A", 0);
	wrong("[", 1);
	wrong("A,,B", 2);
	wrong("A,", 2);
	wrong("A/B,C", 3);
	wrong("[A,B", 2);
	wrong("A*B", 1);
	wrong("A/B+/C", 3);
	wrong("A,*", 2);
	wrong("A/x[1]/B", 3);
	wrong("regex:A(/", 6);
	wrong("regex:A(@B/", 6);
	wrong("regex:/[A]/B(", 11);
	for (int i = 0; i < 65; i++)
		strcat(many, i ? "/A" : "A");
	wrong(many, 120);
}

int main(void)
{
	push_and_pop();
	published_examples();
	domains();
	start_and_end();
	regular_expressions();
	several();
	errors_have_a_place();
	return tap_done();
}
