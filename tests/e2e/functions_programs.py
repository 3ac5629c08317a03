#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 1200
"""Every function of every library recorded (--functions '*:*') of programs that nobody here wrote: output and exit status stay, and calls of their libraries
are in the report. Small programs always, large ones with TORTURE=1; what is not installed is skipped, with the name of the Debian package that has it."""
import csv
import glob
import io
import os
import platform
import pwd
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import TORTURE, TRACE, Report, clean_env, folder, main, receipts_agree, run, tap, trace  # noqa: E402

LIMIT_S = 400
PYTHON = "/usr/bin/python3"


def functions_of(report):
    """Return the number of calls by (library, function)."""
    lines = trace("stats", "-r", "function_sum", "-f", "csv", report.path, limit=LIMIT_S).out.decode()
    rows = csv.DictReader(io.StringIO(lines[lines.find("Time (%)"):]))
    return {(row["Library"], row["Name"]): int(row["Num Calls"]) for row in rows if row.get("Name")}


def compare(name, command, library, function, env=None, user=(), prepare=None):
    """Run a command untraced and traced, each in a folder of its own, and compare. Some call of `*function*` of `library*` must be recorded."""
    results = []
    for traced in (False, True):
        work = folder()
        if prepare:
            prepare(work)
        path = os.path.join(work, "report.rep")
        recorder = [TRACE, "run", "-o", path, "-t", "none", "--functions", "*:*", "--"] if traced else []
        results.append(run([*user, *recorder, *command], env=clean_env(**(env or {})), cwd=work, limit=LIMIT_S))
    plain, result = results
    report = Report(path)
    tap.ok(result.status == plain.status == 0 and result.out == plain.out and plain.out, f"{name}: output and status are those of the untraced program",
           f"{plain.status} {result.status}\n{plain.out[-2000:]!r}\n{result.out[-2000:]!r}\n{result.err[-2000:]!r}")
    if not report.exists():
        tap.ok(False, f"{name}: there is a report", result.err[-2000:])
        return
    check = report.check()
    tap.ok(check.status == 0 and receipts_agree(report) is None, f"{name}: every call is accounted for", f"{check}\n{receipts_agree(report)}")
    calls = functions_of(report)
    if not any(r.get("functions", {}).get("patched") for r in report.receipts()):
        tap.skip(f"{name}: calls of {library} are recorded", "its programs have all libraries inside")
        return
    tap.ok(any(function in f and so.startswith(library) for so, f in calls), f"{name}: calls of {library} are recorded ({sum(calls.values())} calls)",
           str(list(calls)[:40]))


def missing(name, program=None, package=None, module=None, large=False):
    """Skip a program that is large, or not installed."""
    if large and not TORTURE:
        tap.skip(name, "a large program: TORTURE=1 runs it")
    elif program and not shutil.which(program):
        tap.skip(name, f"{program} is not installed (Debian: {package})")
    elif module and (not os.path.exists(PYTHON) or run([PYTHON, "-c", f"import {module}"]).status):
        tap.skip(name, f"{PYTHON} has no module {module} (Debian: {package})")
    else:
        return False
    return True


GIT = """
set -e
git init -q repository && cd repository
for i in 1 2 3 4 5 6 7 8; do seq $((i * 100)) > file$i; git add file$i; git commit -q -m "commit $i"; done
git mv file1 renamed && seq 50 150 > file2 && git commit -q -a -m 'rename'
git log --stat --format='%H %s' && git gc -q && git fsck --full && git diff HEAD~3 | sha1sum && git archive HEAD | sha1sum && git blame file2 | tail -n 3
"""


def git():
    if missing("git", "git", "git"):
        return
    who = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER")
           for what, value in (("NAME", "a"), ("EMAIL", "a@example.org"), ("DATE", "2026-01-01T00:00:00Z"))}
    compare("git", ["sh", "-c", GIT], "libz", "deflate", env=dict(who, HOME="/nonexistent", GIT_CONFIG_NOSYSTEM="1", LC_ALL="C"))


def openssl():
    if missing("openssl", "openssl", "openssl"):
        return
    script = ("seq 20000 > plain && openssl enc -aes-256-cbc -K 00112233445566778899aabbccddeeff -iv 0011223344556677 -in plain -out secret 2>/dev/null && "
              "openssl enc -d -aes-256-cbc -K 00112233445566778899aabbccddeeff -iv 0011223344556677 -in secret 2>/dev/null | cmp - plain && "
              "openssl dgst -sha512 -r secret && openssl prime -generate -bits 64 >/dev/null && openssl x509 -help 2>/dev/null; echo end")
    compare("openssl", ["sh", "-c", script], "libcrypto", "EVP_")


def sqlite():
    if missing("sqlite3", "sqlite3", "sqlite3"):
        return
    sql = ("create table t(a integer primary key, b text); with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000) "
           "insert into t select i, hex(i * 7919) from n; create index x on t(b); select count(*), sum(a), min(b), max(b) from t; "
           "select a from t order by b desc limit 5; pragma integrity_check; vacuum; select json_group_array(a) from t where a < 9;")
    compare("sqlite3", ["sqlite3", "file.db", sql], "libsqlite3", "sqlite3_")


BLAS = """
import numpy as np
r = np.random.RandomState(1)
a, b = r.rand(150, 150), r.rand(150, 150)
print(repr((a @ b).sum()), repr(np.linalg.det(a)), repr(np.linalg.eigvals(a).sum()), np.linalg.svd(a)[1][:3], np.linalg.solve(a, b).sum())
"""
HDF5 = """
import h5py, numpy as np
with h5py.File('a.h5', 'w') as f:
    for i in range(20):
        f.create_dataset(f'g{i % 3}/d{i}', data=np.arange(i * 100), compression='gzip')
        f[f'g{i % 3}'].attrs[f'a{i}'] = i
with h5py.File('a.h5') as f:
    names = []
    f.visit(names.append)
    print(names, sum(int(f[n][...].sum()) for n in names if isinstance(f[n], h5py.Dataset)), [dict(f[g].attrs) for g in sorted(f)])
try:
    h5py.File('none.h5')
except OSError as error:
    print(error)
"""
LEARN = """
import warnings
warnings.filterwarnings('ignore')
from sklearn import cluster, datasets, decomposition, ensemble, linear_model, svm
x, y = datasets.load_iris(return_X_y=True)
for model in (linear_model.LogisticRegression(max_iter=200), svm.SVC(), ensemble.RandomForestClassifier(20, random_state=1, n_jobs=2),
              ensemble.GradientBoostingClassifier(n_estimators=10, random_state=1)):
    print(type(model).__name__, model.fit(x, y).score(x, y))
print(cluster.KMeans(3, random_state=1, n_init=3).fit(x).labels_.tolist(), decomposition.PCA(2).fit(x).explained_variance_ratio_.tolist())
"""
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "HOME": "/nonexistent"}


def numpy_blas():
    if not missing("numpy with a BLAS", module="numpy", package="python3-numpy"):
        compare("numpy with a BLAS", [PYTHON, "-c", BLAS], "lib", "cblas_", env=ONE_THREAD)


def hdf5():
    if not missing("HDF5", module="h5py", package="python3-h5py", large=True):
        compare("HDF5", [PYTHON, "-c", HDF5], "libhdf5", "H5D", env=ONE_THREAD)


def scikit_learn():
    if not missing("scikit-learn", module="sklearn", package="python3-sklearn", large=True):
        compare("scikit-learn", [PYTHON, "-c", LEARN], "lib", "cblas_", env=ONE_THREAD)


SOURCE = """
#include <algorithm>
#include <map>
#include <string>
#include <vector>
int count(const std::vector<std::string> &words) {
    std::map<std::string, int> m;
    for (auto &w : words) m[w]++;
    return std::max_element(m.begin(), m.end(), [](auto &a, auto &b) { return a.second < b.second; })->second;
}
"""


def clang():
    clang = next((c for c in [*sorted(glob.glob("/usr/lib/llvm-*/bin/clang")), "/usr/bin/clang"] if os.path.exists(c)), "clang")
    if missing("clang", clang, "clang", large=True):
        return

    def prepare(work):
        with open(os.path.join(work, "a.cpp"), "w", encoding="utf-8") as file:
            file.write(SOURCE)
    compare("clang", [clang, "-x", "c++", "-O2", "-S", "-o", "-", "a.cpp"], "libLLVM", "_ZN4llvm", prepare=prepare)


POSTGRES = """
set -e
d=$PWD/data
initdb -D "$d" -A trust -N --no-instructions -U bench --locale=C -E UTF8 >initdb.out
pg_ctl -D "$d" -s -w -t 120 -l log -o "-k $PWD -c listen_addresses= -c fsync=off -c autovacuum=off" start >start.out
trap 'pg_ctl -D "$d" -s -m fast -w stop' EXIT
createdb -h "$PWD" -U bench bench
pgbench -h "$PWD" -U bench -i -s 1 -q bench >/dev/null 2>&1
pgbench -h "$PWD" -U bench --random-seed=42 -n -c 1 -t 300 bench 2>&1 | grep 'actually processed'
psql -h "$PWD" -U bench -At -c "select count(*), sum(abalance), md5(string_agg(abalance::text, ',' order by aid)) from pgbench_accounts" bench
psql -h "$PWD" -U bench -At -c "select upper(x), x ~ 'b+' from unnest(array['abc', 'def']) x" -c "select xmlparse(document '<a/>')" bench
"""


def postgresql():
    folders = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    if missing("PostgreSQL", os.path.join(folders[-1], "initdb") if folders else "initdb", "postgresql", large=True):
        return
    user = ()
    if os.geteuid() == 0:  # it refuses to run as root
        if not shutil.which("runuser") or not any(p.pw_name == "postgres" for p in pwd.getpwall()):
            tap.skip("PostgreSQL", "it does not run as root, and there is no user postgres")
            return
        user = ("runuser", "-u", "postgres", "--")
        if run([*user, TRACE, "--version"]).status:
            tap.skip("PostgreSQL", "it does not run as root, and the user postgres cannot run this trace")
            return
    path = os.pathsep.join([*folders[-1:], os.environ.get("PATH", "/usr/bin:/bin")])
    compare("PostgreSQL", ["sh", "-c", POSTGRES], "libpq", "PQexec", env={"PATH": path, "LC_ALL": "C"}, user=user,
            prepare=lambda work: user and shutil.chown(work, "postgres"))


if platform.machine() != "x86_64":
    print("1..0 # SKIP functions of libraries are tried on x86-64 only")
    sys.exit(0)
main(git, openssl, sqlite, numpy_blas, hdf5, scikit_learn, clang, postgresql)
