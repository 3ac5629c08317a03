/* SPDX-License-Identifier: Apache-2.0 */
/*
 * _fast.c - the compiled part of ncu_report: the methods that loops over metrics and instances
 * call most, without a Python frame.
 *
 * It is built if there are a compiler and Python.h; without it the package works the same, but more
 * slowly (_quick.py replaces it).
 *
 * Views has the arrays of a result. Metric has the attributes of IMetric. quick() wraps a method of
 * IMetric: the wrapper answers the usual calls and passes all others to the method, such as indexes
 * that are not a plain int, keyword arguments, and calls that raise. So each answer is defined in
 * _metric.py, and this file only speeds up the usual ones.
 *
 * All functions run with the interpreter's lock held (free-threaded builds do not use this file).
 * Types are static: an interpreter with a lock of its own cannot import this module and uses
 * _quick.py's classes.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <structmember.h>

#define INTERFACE 3 /* counts changes between this file and _quick.py */

/* enum libtrace_value_kind of libtrace-reader.h; IMetric.ValueKind_* are greater by one, except
 * NONE */
enum { KIND_NONE, KIND_STRING, KIND_FLOAT, KIND_DOUBLE, KIND_UINT32, KIND_UINT64 };

/* ---- Views: the arrays of a result ---- */

/* A copy of struct libtrace_values, since the library may free its own memory. */
struct values {
	Py_ssize_t count;
	uint8_t *kinds;
	uint64_t *bits;
};

enum { KEYS, VALUES, SIDES }; /* the two values of an instance */

typedef struct {
	PyObject object;
	struct values scalars; /* values of the metrics */
	uint32_t *counts;      /* number of instances of each metric */
	struct values instances[SIDES];
	Py_ssize_t
		*begins; /* index of each metric's first instance, then the end; NULL = not read */
} Views;

/* Copy an array. Returns NULL with an exception if there is no memory. An empty copy is not NULL
 * either, since NULL means "not read". */
static void *copied(unsigned long long address, Py_ssize_t count, size_t size)
{
	void *copy = count >= 0 && (size_t)count < PY_SSIZE_T_MAX / size
		? PyMem_Malloc((size_t)count * size + 1)
		: NULL;
	if (!copy)
		PyErr_NoMemory();
	else if (count)
		memcpy(copy, (const void *)(uintptr_t)address, (size_t)count * size);
	return copy;
}

static bool values_copied(
	struct values *v, Py_ssize_t count, unsigned long long kinds, unsigned long long bits)
{
	v->kinds = copied(kinds, count, sizeof(*v->kinds));
	v->bits = v->kinds ? copied(bits, count, sizeof(*v->bits)) : NULL;
	v->count = v->bits ? count : 0;
	return v->bits;
}

static void values_free(struct values *v)
{
	PyMem_Free(v->kinds);
	PyMem_Free(v->bits);
	memset(v, 0, sizeof(*v));
}

static double real_of(uint64_t bits)
{
	double real;
	memcpy(&real, &bits, sizeof(real));
	return real;
}

/* show_metrics(count, kinds, bits, counts): copy the arrays at these addresses of the library.
 * Later calls are ignored. */
static PyObject *views_show_metrics(PyObject *self, PyObject *args)
{
	Views *v = (Views *)self;
	unsigned long long kinds, bits, counts;
	Py_ssize_t count;
	if (!PyArg_ParseTuple(args, "nKKK", &count, &kinds, &bits, &counts))
		return NULL;
	if (!v->counts && values_copied(&v->scalars, count, kinds, bits))
		v->counts = copied(counts, count, sizeof(*v->counts));
	if (v->counts)
		Py_RETURN_NONE;
	values_free(&v->scalars);
	return NULL;
}

/* Compute the index of each metric's first instance. Raises ValueError if their sum is not
 * `total`. */
static Py_ssize_t *begins_make(const Views *v, Py_ssize_t total)
{
	const Py_ssize_t metrics = v->scalars.count;
	Py_ssize_t *begins = PyMem_New(Py_ssize_t, (size_t)metrics + 1);
	if (!begins) {
		PyErr_NoMemory();
		return NULL;
	}
	Py_ssize_t sum = 0, i = 0;
	for (; i < metrics && v->counts[i] <= (size_t)(total - sum); i++) {
		begins[i] = sum;
		sum += (Py_ssize_t)v->counts[i];
	}
	begins[i] = sum;
	if (i == metrics && sum == total)
		return begins;
	PyMem_Free(begins);
	PyErr_SetString(PyExc_ValueError, "number of instances differs from that of the metrics");
	return NULL;
}

/* show_instances(count, key_kinds, key_bits, kinds, bits): copy the arrays of the instances of
 * all metrics. */
static PyObject *views_show_instances(PyObject *self, PyObject *args)
{
	Views *v = (Views *)self;
	unsigned long long kinds[SIDES], bits[SIDES];
	Py_ssize_t count;
	if (!PyArg_ParseTuple(args, "nKKKK", &count, &kinds[KEYS], &bits[KEYS], &kinds[VALUES],
		    &bits[VALUES]))
		return NULL;
	if (v->begins)
		Py_RETURN_NONE;
	if (values_copied(&v->instances[KEYS], count, kinds[KEYS], bits[KEYS]) &&
		values_copied(&v->instances[VALUES], count, kinds[VALUES], bits[VALUES]))
		v->begins = begins_make(v, count);
	if (v->begins)
		Py_RETURN_NONE;
	values_free(&v->instances[KEYS]);
	values_free(&v->instances[VALUES]);
	return NULL;
}

static void views_free(PyObject *self)
{
	Views *v = (Views *)self;
	values_free(&v->scalars);
	values_free(&v->instances[KEYS]);
	values_free(&v->instances[VALUES]);
	PyMem_Free(v->counts);
	PyMem_Free(v->begins);
	Py_TYPE(self)->tp_free(self);
}

static PyMethodDef views_methods[] = {
	{"show_metrics", views_show_metrics, METH_VARARGS, NULL},
	{"show_instances", views_show_instances, METH_VARARGS, NULL},
	{NULL, NULL, 0, NULL},
};

static PyTypeObject views_type = {
	PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ncu_report._fast.Views",
	.tp_basicsize = sizeof(Views),
	.tp_dealloc = views_free,
	.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
	.tp_doc = PyDoc_STR("The arrays of a result: the base of MetricColumns."),
	.tp_methods = views_methods,
	.tp_new = PyType_GenericNew,
};

/* ---- Metric: the attributes of IMetric ---- */

/* The layout is that of four Python slots, as copy and pickle expect. */
typedef struct {
	PyObject object;
	PyObject *result; /* MetricColumns; any other object is left to Python */
	Py_ssize_t at;    /* index of the metric in the result */
	PyObject *name;
	Py_ssize_t side; /* KEYS or VALUES */
} Metric;

/* IMetric(result, at, name, side=1): __init__ */
static int metric_init(PyObject *self, PyObject *args, PyObject *keywords)
{
	static char *names[] = {"result", "at", "name", "side", NULL};
	Metric *m = (Metric *)self;
	PyObject *result, *name;
	Py_ssize_t at, side = VALUES;
	if (!keywords && PyTuple_GET_SIZE(args) == 3) { /* the usual call, without a parser */
		result = PyTuple_GET_ITEM(args, 0), name = PyTuple_GET_ITEM(args, 2);
		at = PyLong_AsSsize_t(PyTuple_GET_ITEM(args, 1));
		if (at == -1 && PyErr_Occurred())
			return -1;
	} else if (!PyArg_ParseTupleAndKeywords(
			   args, keywords, "OnO|n", names, &result, &at, &name, &side)) {
		return -1;
	}
	PyObject *old_result = m->result, *old_name = m->name;
	Py_INCREF(result);
	Py_INCREF(name);
	m->result = result, m->name = name, m->at = at, m->side = side;
	Py_XDECREF(old_result);
	Py_XDECREF(old_name);
	return 0;
}

static int metric_traverse(PyObject *self, visitproc visit, void *arg)
{
	Py_VISIT(((Metric *)self)->result);
	Py_VISIT(((Metric *)self)->name);
	return 0;
}

static int metric_clear(PyObject *self)
{
	Py_CLEAR(((Metric *)self)->result);
	Py_CLEAR(((Metric *)self)->name);
	return 0;
}

static void metric_free(PyObject *self)
{
	PyObject_GC_UnTrack(self);
	metric_clear(self);
	Py_TYPE(self)->tp_free(self);
}

static PyMemberDef metric_members[] = {
	{"_result", T_OBJECT_EX, offsetof(Metric, result), 0, NULL},
	{"_at", T_PYSSIZET, offsetof(Metric, at), 0, NULL},
	{"_name", T_OBJECT_EX, offsetof(Metric, name), 0, NULL},
	{"_side", T_PYSSIZET, offsetof(Metric, side), 0, NULL},
	{NULL, 0, 0, 0, NULL},
};

static PyTypeObject metric_type = {
	PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ncu_report._fast.Metric",
	.tp_basicsize = sizeof(Metric),
	.tp_dealloc = metric_free,
	.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
	.tp_doc = PyDoc_STR("Metric(result, at, name, side=1)\n--\n\nThe base of IMetric."),
	.tp_traverse = metric_traverse,
	.tp_clear = metric_clear,
	.tp_members = metric_members,
	.tp_init = metric_init,
	.tp_new = PyType_GenericNew,
};

/* ---- answers for a metric, and an index (NULL = none). NULL without an exception: call the method
 * ---- */

/* Return the arrays of the metric's result; NULL if the result is of another type. */
static Views *views_of(const Metric *m)
{
	if (!m->result || !PyObject_TypeCheck(m->result, &views_type))
		return NULL;
	Views *v = (Views *)m->result;
	return m->at >= 0 && m->at < v->scalars.count ? v : NULL;
}

/* Return the arrays of the metric's result with instances, which are read at the first call. */
static Views *views_with_instances(const Metric *m)
{
	Views *v = views_of(m);
	if (!v || v->begins)
		return v;
	Py_INCREF(v);
	PyObject *read = PyObject_CallMethod((PyObject *)v, "instances", NULL);
	Views *found = read && views_of(m) == v && v->begins ? v : NULL;
	Py_XDECREF(read);
	Py_DECREF(v);
	return found;
}

/* Return the position of an instance; -1 if there is no instance of this number. */
static Py_ssize_t instance_at(const Views *v, const Metric *m, PyObject *index)
{
	const Py_ssize_t wanted = PyLong_AsSsize_t(index);
	if (wanted == -1)
		PyErr_Clear(); /* the index was -1 or does not fit */
	return wanted >= 0 && wanted < v->begins[m->at + 1] - v->begins[m->at]
		? v->begins[m->at] + wanted
		: -1;
}

static PyObject *value_at(const struct values *v, Py_ssize_t at)
{
	const char *text;
	switch (v->kinds[at]) {
	case KIND_FLOAT:
	case KIND_DOUBLE:
		return PyFloat_FromDouble(real_of(v->bits[at]));
	case KIND_UINT32:
	case KIND_UINT64:
		return PyLong_FromUnsignedLongLong(v->bits[at]);
	case KIND_STRING:
		text = (const char *)(uintptr_t)v->bits[at];
		return text
			? PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "surrogateescape")
			: NULL;
	default:
		return NULL;
	}
}

static PyObject *answer_value(const Metric *m, PyObject *index)
{
	if (!index) {
		const Views *v = m->side != KEYS ? views_of(m) : NULL;
		return v ? value_at(&v->scalars, m->at) : NULL;
	}
	const Views *v = views_with_instances(m);
	const Py_ssize_t at = v ? instance_at(v, m, index) : -1;
	return at >= 0 ? value_at(&v->instances[m->side != KEYS], at) : NULL;
}

/* Return the kind of an instance, and its position in *ret_from; KIND_NONE if there is none. */
static int instance_kind(const Views *v, const Metric *m, PyObject *index,
	const struct values **ret_from, Py_ssize_t *ret_at)
{
	*ret_from = &v->instances[m->side != KEYS];
	*ret_at = instance_at(v, m, index);
	return *ret_at < 0 ? KIND_NONE : (*ret_from)->kinds[*ret_at];
}

/* Convert as libtrace_values_as_real() does. */
static PyObject *answer_as_double(const Metric *m, PyObject *index)
{
	const Views *v = index ? views_with_instances(m) : NULL;
	const struct values *from;
	Py_ssize_t at;
	switch (v ? instance_kind(v, m, index, &from, &at) : -1) {
	case -1:
		return NULL;
	case KIND_FLOAT:
	case KIND_DOUBLE:
		return PyFloat_FromDouble(real_of(from->bits[at]));
	case KIND_UINT32:
	case KIND_UINT64:
		return PyFloat_FromDouble((double)from->bits[at]);
	default:
		return PyFloat_FromDouble(0);
	}
}

/* Convert as libtrace_values_as_whole() does. */
static uint64_t whole_of(double real)
{
	if (real >= 0)
		return real < 0x1p64 ? (uint64_t)real : 0;
	return real >= -0x1p63 ? -(uint64_t)-real : UINT64_C(1) << 63;
}

static PyObject *answer_as_uint64(const Metric *m, PyObject *index)
{
	const Views *v = index ? views_with_instances(m) : NULL;
	const struct values *from;
	Py_ssize_t at;
	switch (v ? instance_kind(v, m, index, &from, &at) : -1) {
	case -1:
		return NULL;
	case KIND_FLOAT:
	case KIND_DOUBLE:
		return PyLong_FromUnsignedLongLong(whole_of(real_of(from->bits[at])));
	case KIND_UINT32:
	case KIND_UINT64:
		return PyLong_FromUnsignedLongLong(from->bits[at]);
	default:
		return PyLong_FromLong(0);
	}
}

static PyObject *answer_num_instances(const Metric *m, PyObject *index)
{
	const Views *v = index ? NULL : views_of(m);
	return v ? PyLong_FromUnsignedLong(v->counts[m->at]) : NULL;
}

/* Return None, as for most metrics, or an object of the class IMetric._KEYS. */
static PyObject *answer_correlation_ids(const Metric *m, PyObject *index)
{
	const Views *v = index ? NULL : views_of(m);
	const bool some = v && v->counts[m->at];
	if (some)
		v = views_with_instances(m);
	if (!v || !m->name)
		return NULL;
	if (!some || v->instances[KEYS].kinds[v->begins[m->at]] == KIND_NONE)
		return Py_INCREF(Py_None), Py_None;
	return PyObject_CallMethod((PyObject *)m, "_KEYS", "OnOi", m->result, m->at, m->name, KEYS);
}

/* ---- quick: a method with an answer ---- */

typedef PyObject *(*answer)(const Metric *metric, PyObject *index);

static const struct {
	const char *name;
	answer answer;
} answers[] = {
	{"value", answer_value},
	{"as_double", answer_as_double},
	{"as_uint64", answer_as_uint64},
	{"num_instances", answer_num_instances},
	{"correlation_ids", answer_correlation_ids},
};

typedef struct {
	PyObject object;
	PyObject *method; /* the Python method; NULL only while this is freed */
	answer answer;
#if PY_VERSION_HEX >= 0x03090000
	vectorcallfunc call;
#endif
} Quick;

/* Return the answer; NULL without an exception if the method must be called. */
static PyObject *quick_answer(const Quick *q, PyObject *const *args, Py_ssize_t count)
{
	if (count < 1 || count > 2 || !PyObject_TypeCheck(args[0], &metric_type))
		return NULL;
	if (count == 2 && !PyLong_CheckExact(args[1]))
		return NULL;
	return q->answer((const Metric *)args[0], count == 2 ? args[1] : NULL);
}

#if PY_VERSION_HEX >= 0x03090000
static PyObject *quick_call(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
	const Quick *q = (const Quick *)self;
	PyObject *found = names ? NULL : quick_answer(q, args, PyVectorcall_NARGS(count));
	return found || PyErr_Occurred() ? found
					 : PyObject_Vectorcall(q->method, args, count, names);
}
#define QUICK_CALL PyVectorcall_Call
#define QUICK_FLAGS (Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR)
#define QUICK_VECTORCALL offsetof(Quick, call)
#else /* vectorcall is not public before 3.9 */
static PyObject *quick_call(PyObject *self, PyObject *args, PyObject *keywords)
{
	const Quick *q = (const Quick *)self;
	PyObject *first[2] = {NULL, NULL};
	const Py_ssize_t count = PyTuple_GET_SIZE(args);
	for (Py_ssize_t i = 0; i < count && i < 2; i++)
		first[i] = PyTuple_GET_ITEM(args, i);
	PyObject *found =
		keywords && PyDict_GET_SIZE(keywords) ? NULL : quick_answer(q, first, count);
	return found || PyErr_Occurred() ? found : PyObject_Call(q->method, args, keywords);
}
#define QUICK_CALL quick_call
#define QUICK_FLAGS Py_TPFLAGS_METHOD_DESCRIPTOR
#define QUICK_VECTORCALL 0
#endif

static PyObject *quick_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
	static char *names[] = {"method", NULL};
	const size_t count = sizeof(answers) / sizeof(*answers);
	PyObject *method;
	if (!PyArg_ParseTupleAndKeywords(args, keywords, "O", names, &method))
		return NULL;
	PyObject *name = PyObject_GetAttrString(method, "__name__");
	const char *text = name ? PyUnicode_AsUTF8(name) : NULL;
	size_t i = 0;
	while (text && i < count && strcmp(answers[i].name, text) != 0)
		i++;
	if (text && i == count)
		PyErr_Format(PyExc_ValueError, "no compiled implementation of %U", name);
	Py_XDECREF(name);
	Quick *q = text && i < count ? (Quick *)type->tp_alloc(type, 0) : NULL;
	if (!q)
		return NULL;
	Py_INCREF(method);
	q->method = method, q->answer = answers[i].answer;
#if PY_VERSION_HEX >= 0x03090000
	q->call = quick_call;
#endif
	return (PyObject *)q;
}

static int quick_traverse(PyObject *self, visitproc visit, void *arg)
{
	Py_VISIT(((Quick *)self)->method);
	return 0;
}

static int quick_clear(PyObject *self)
{
	Py_CLEAR(((Quick *)self)->method);
	return 0;
}

static void quick_free(PyObject *self)
{
	PyObject_GC_UnTrack(self);
	quick_clear(self);
	Py_TYPE(self)->tp_free(self);
}

/* Bind to an object, as functions do. */
static PyObject *quick_get(PyObject *self, PyObject *object, PyObject *type)
{
	(void)type;
	if (object && object != Py_None)
		return PyMethod_New(self, object);
	Py_INCREF(self);
	return self;
}

/* Get an attribute; missing attributes (name, module, annotations, code) are read from the method.
 */
static PyObject *quick_getattr(PyObject *self, PyObject *name)
{
	PyObject *found = PyObject_GenericGetAttr(self, name);
	PyObject *method = ((Quick *)self)->method;
	if (found || !method || !PyErr_ExceptionMatches(PyExc_AttributeError))
		return found;
	PyErr_Clear();
	return PyObject_GetAttr(method, name);
}

static PyObject *quick_doc(PyObject *self, void *closure)
{
	(void)closure;
	return PyObject_GetAttrString(((Quick *)self)->method, "__doc__");
}

static PyMemberDef quick_members[] = {
	{"__wrapped__", T_OBJECT_EX, offsetof(Quick, method), READONLY, NULL},
	{NULL, 0, 0, 0, NULL},
};

static PyGetSetDef quick_getset[] = {
	{"__doc__", quick_doc, NULL, NULL, NULL},
	{NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject quick_type = {
	PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ncu_report._fast.quick",
	.tp_basicsize = sizeof(Quick),
	.tp_dealloc = quick_free,
	.tp_vectorcall_offset = QUICK_VECTORCALL,
	.tp_call = QUICK_CALL,
	.tp_getattro = quick_getattr,
	.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | QUICK_FLAGS,
	.tp_traverse = quick_traverse,
	.tp_clear = quick_clear,
	.tp_members = quick_members,
	.tp_getset = quick_getset,
	.tp_descr_get = quick_get,
	.tp_new = quick_new,
};

/* ---- the module ---- */

/* Add a type under a name; the module keeps its own reference. */
static int type_add(PyObject *module, const char *name, PyTypeObject *type)
{
	if (PyType_Ready(type))
		return -1;
	Py_INCREF(type);
	if (PyModule_AddObject(module, name, (PyObject *)type)) {
		Py_DECREF(type);
		return -1;
	}
	return 0;
}

static int module_exec(PyObject *module)
{
	if (!metric_type.tp_dict) { /* for copy and pickle: the members are slots */
		PyObject *slots = Py_BuildValue("(ssss)", "_result", "_at", "_name", "_side");
		metric_type.tp_dict = slots ? PyDict_New() : NULL;
		const int failed = !metric_type.tp_dict ||
			PyDict_SetItemString(metric_type.tp_dict, "__slots__", slots);
		Py_XDECREF(slots);
		if (failed)
			return -1;
	}
	return type_add(module, "Views", &views_type) || type_add(module, "Metric", &metric_type) ||
			type_add(module, "quick", &quick_type) ||
			PyModule_AddIntConstant(module, "INTERFACE", INTERFACE)
		? -1
		: 0;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, (void *)module_exec}, {0, NULL}};

static struct PyModuleDef module_def = {
	PyModuleDef_HEAD_INIT,
	.m_name = "_fast",
	.m_doc = PyDoc_STR("The compiled part of ncu_report."),
	.m_slots = module_slots,
};

__attribute__((visibility("default"))) PyMODINIT_FUNC PyInit__fast(void);
PyMODINIT_FUNC PyInit__fast(void)
{
	return PyModuleDef_Init(&module_def);
}
