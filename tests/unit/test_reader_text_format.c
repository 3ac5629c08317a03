/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reader_text_format.c - tests of section files as text: the value of each form, and the
 * position of each error.
 *
 * The language is specified at https://protobuf.dev/reference/protobuf/textformat-spec.
 */
#include <inttypes.h>

#include "ncu_text.h"
#include "reader/ncu/depth.h"
#include "reader/ncu/displayed_metrics.h"
#include "tap.h"

static Ncu__ProfilerSection *section_of(const char *text, char *problems)
{
	return ncu_text_message(&ncu__profiler_section__descriptor, text, problems);
}

static void values(void)
{
	char problems[NCU_PROBLEM_BYTES];
	Ncu__ProfilerSection *s = section_of(
		"# a comment\n"
		"Identifier: \"A\" 'b' \"\\n\\x41\\101\\\"\"; DisplayName: 'x # y',\n"
		"Order: 0x10\n"
		"Header { Rows: 017 Metrics [ { Name: \"m\" }, < Name: 'n' > ] }\n"
		"Body: { Items { BarChart { ValueAxis { Range { Min: -5 Max: 9 } }\n"
		"  SortKey: ByValue SortDirection: 1 } } SetDefault: true }\n"
		"Metrics { Metrics { Name: 'k' Multiplier: -2.5e3 ShowInstances: 0 } }\n"
		"Metrics { Metrics { Name: 'l' Multiplier: 1.5f CtrDomains: ['a', 'b'] } }\n",
		problems);
	check(s && !*problems, "all forms of values are read (%s)", problems);
	if (!s)
		return;
	const Ncu__ProfilerSectionBarChart *bar = s->body[0]->items[0]->bar_chart;
	check(!strcmp(s->identifier, "Ab\nAA\""), "adjacent strings are one string, with escapes");
	check(!strcmp(s->display_name, "x # y"), "a '#' in a string begins no comment");
	check(s->order == 16 && s->header->rows == 15,
		"hexadecimal and octal numbers are read (%u, %u)", s->order, s->header->rows);
	check(s->header->n_metrics == 2 && !strcmp(s->header->metrics[1]->name, "n"),
		"a list of messages is read in both kinds of brackets");
	check(bar->value_axis->range->min == -5 && bar->value_axis->range->max == 9,
		"negative numbers are read");
	check(bar->sort_key == NCU__SORT_KEYS__ByValue &&
			bar->sort_direction == NCU__SORT_DIRECTIONS__Descending,
		"values of enumerations are read by name and by number");
	check(s->body[0]->set_default && s->metrics[0]->metrics[0]->has_show_instances &&
			!s->metrics[0]->metrics[0]->show_instances,
		"a bool may be true or 0");
	check(s->n_metrics == 2 && s->metrics[0]->metrics[0]->multiplier == -2500 &&
			s->metrics[1]->metrics[0]->multiplier == 1.5,
		"numbers with a fraction and repeated fields are read");
	check(s->metrics[1]->metrics[0]->n_ctr_domains == 2, "a list of strings is read");
	ncu__profiler_section__free_unpacked(s, NULL);
}

static const struct {
	const char *text, *problems;
} wrong[] = {
	{"Identifier: \"a\"\nOrdr: 5\nOrder: 2",
		"2:1 warning: ProfilerSection has no field Ordr: left out"},
	{"Later { A { B: [1, 2] } C: 'x' 'y' } Order: 2",
		"1:1 warning: ProfilerSection has no field Later: left out"},
	{"Later: -2.5 Order: 2", "1:1 warning: ProfilerSection has no field Later: left out"},
	{"Later: [a, b] Order: 2", "1:1 warning: ProfilerSection has no field Later: left out"},
	{"Later",
		"1:1 warning: ProfilerSection has no field Later: left out; 1:6 expected : before "
		"the end "
		"of the text"},
	{"Later: }",
		"1:1 warning: ProfilerSection has no field Later: left out; 1:8 expected a value, "
		"not }"},
	{"DisplayName: \"abc\nOrder: 5", "1:14 unterminated string"},
	{"DisplayName: \"abc\\", "1:14 unterminated string"},
	{"DisplayName: \"a\\q\"", "1:14 unknown escape in a string"},
	{"DisplayName: \"a\\0\"", "1:14 zero byte in a string"},
	{"DisplayName: 5", "1:14 expected a string, not 5"},
	{"DisplayName \"a\"", "1:13 expected :, not \"a\""},
	{"Order: 5 Order: 6", "1:10 Order is set twice"},
	{"Order: -1", "1:9 -1 is out of range"},
	{"Order: 4294967296", "1:8 4294967296 is out of range"},
	{"Order: 99999999999999999999", "1:8 expected an integer, not 99999999999999999999"},
	{"Order: 1.5", "1:8 expected an integer, not 1.5"},
	{"Order: x", "1:8 expected an integer, not x"},
	{"Header {\n  Metrics { Name: 'a' }\n",
		"3:1 expected a field or } before the end of the text"},
	{"Header { Metrics { Name: 'a' } >", "1:32 expected a field or }, not >"},
	{"Header: 5", "1:9 expected {, not 5"},
	{"Order: 5 }", "1:10 expected a field, not }"},
	{"Order: 5 $", "1:10 unexpected character outside a string"},
	{"Filter { MinArch: CC_1 }", "1:19 min_arch has no value CC_1"},
	{"Body { SetDefault: maybe }", "1:20 expected true or false, not maybe"},
	{"Header { Metrics { Multiplier: 'a' } }", "1:32 expected a number, not 'a'"},
	{"Header { Metrics [ { Name: 'a' } { } ] }", "1:34 expected , or ], not {"},
};

static void errors(void)
{
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		char problems[NCU_PROBLEM_BYTES];
		Ncu__ProfilerSection *s = section_of(wrong[i].text, problems);
		const bool is_left_out =
			strstr(wrong[i].problems, "left out") && !strstr(wrong[i].problems, ";");
		check(!strcmp(problems, wrong[i].problems) && (s != NULL) == is_left_out &&
				(!s || s->order == 2),
			"%.*s: %s", (int)strcspn(wrong[i].text, "\n"), wrong[i].text, problems);
		ncu__profiler_section__free_unpacked(s, NULL);
	}
}

/* Check the limit of nesting: items in containers in items ... */
static void depth(void)
{
	static const char open[] = "Items{HorizontalContainer{";
	char text[sizeof(open) * 200], problems[NCU_PROBLEM_BYTES];
	for (unsigned pairs = 14; pairs <= 100; pairs += 86) {
		char *to = stpcpy(text, "Body{");
		for (unsigned i = 0; i < pairs; i++)
			to = stpcpy(to, open);
		for (unsigned i = 0; i < pairs; i++)
			to = stpcpy(to, "}}");
		strcpy(to, "}");
		Ncu__ProfilerSection *s = section_of(text, problems);
		check((s != NULL) == (2 * pairs + 1 <= MESSAGE_DEPTH_MAX), "%u nested messages: %s",
			2 * pairs + 1, *problems ? problems : "read");
		ncu__profiler_section__free_unpacked(s, NULL);
	}
}

/* ---- filters and options ---- */

static const struct {
	const char *promise, *metric, *section;
	uint32_t architecture;
	int scope;
	const char *name; /* NULL = absent */
} filters[] = {
	{"without a filter", "Name: 'a'", "", 70, 1, "a"},
	{"both ends of a range belong to it", "Name: 'a' Filter { MinArch: CC_70 MaxArch: CC_86 }",
		"", 70, 1, "a"},
	{"the upper one, too", "Name: 'a' Filter { MinArch: CC_70 MaxArch: CC_86 }", "", 86, 1,
		"a"},
	{"below a range", "Name: 'a' Filter { MinArch: CC_75 }", "", 70, 1, NULL},
	{"above a range", "Name: 'a' Filter { MaxArch: CC_75 }", "", 80, 1, NULL},
	{"any one of several ranges",
		"Name: 'a' Filter { Items { MaxArch: CC_60 } Items { MinArch: CC_80 } }", "", 80, 1,
		"a"},
	{"none of several ranges",
		"Name: 'a' Filter { Items { MaxArch: CC_60 } Items { MinArch: CC_80 } }", "", 70, 1,
		NULL},
	{"the first option that matches, before the metric itself",
		"Name: 'a' Options { Name: 'b' Filter { MinArch: CC_90 } } Options { Name: 'c' "
		"Filter { "
		"MinArch: CC_80 } } Options { Name: 'd' }",
		"", 86, 1, "c"},
	{"an option without a filter always matches", "Name: 'a' Options { Name: 'd' }", "", 86, 1,
		"d"},
	{"an option where the metric itself is not for this architecture",
		"Name: 'a' Filter { MaxArch: CC_70 } Options { Name: 'b' Filter { MinArch: CC_75 } "
		"}",
		"", 75, 1, "b"},
	{"a scope",
		"Name: 'a' Filter { CollectionFilter { CollectionScopes: CollectionScope_Launch } "
		"}",
		"", 70, 1, "a"},
	{"another scope",
		"Name: 'a' Filter { CollectionFilter { CollectionScopes: CollectionScope_Launch } "
		"}",
		"", 70, 2, NULL},
	{"any one of several scopes",
		"Name: 'a' Filter { CollectionFilter { CollectionScopes: [CollectionScope_Launch, "
		"CollectionScope_Range] } }",
		"", 70, 2, "a"},
	{"the section's filter where the metric has none", "Name: 'a'", "Filter { MinArch: CC_80 }",
		70, 1, NULL},
	{"the metric's filter before the section's", "Name: 'a' Filter { MaxArch: CC_75 }",
		"Filter { MinArch: CC_80 }", 70, 1, "a"},
	{"architecture of the metric's and scope of the section's",
		"Name: 'a' Filter { MaxArch: CC_75 }",
		"Filter { CollectionFilter { CollectionScopes: CollectionScope_Launch } }", 70, 2,
		NULL},
};

static void choices(void)
{
	for (size_t i = 0; i < sizeof(filters) / sizeof(*filters); i++) {
		char problems[NCU_PROBLEM_BYTES];
		const Ncu__ProfilerSectionMetricOption *option;
		Ncu__ProfilerSectionMetric *m = ncu_text_message(
			&ncu__profiler_section_metric__descriptor, filters[i].metric, problems);
		Ncu__ProfilerSection *s = section_of(filters[i].section, problems);
		const struct ncu_target target = {.architecture = filters[i].architecture,
			.scope = (Ncu__CollectionScope)filters[i].scope,
			.section_filter = s ? s->filter : NULL};
		const char *name = m && s ? ncu_shown_name(m, &target, &option) : "unreadable";
		check(name ? filters[i].name && !strcmp(name, filters[i].name) : !filters[i].name,
			"%s: %s %s", filters[i].promise, name ? name : "none", problems);
		ncu__profiler_section_metric__free_unpacked(m, NULL);
		ncu__profiler_section__free_unpacked(s, NULL);
	}
}

int main(void)
{
	values();
	errors();
	depth();
	choices();
	return tap_done();
}
