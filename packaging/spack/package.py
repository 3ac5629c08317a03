# SPDX-License-Identifier: Apache-2.0
"""Recipe for Spack 1.0 and later: builds from source, with Spack's libraries. make-packages fills in the words between @."""

from spack_repo.builtin.build_systems.makefile import MakefilePackage

from spack.package import *


class LibtraceTracer(MakefilePackage):
    """Record what a program did and what it waited for: CUDA, NVTX and OS runtime calls, with callchains."""

    homepage = "@HOMEPAGE@"
    git = "@REPOSITORY@"

    license("Apache-2.0")

    version("main", branch="main")
    version("@VERSION@", tag="v@VERSION@")

    variant("cuda", default=False, description="Trace CUDA: build with the headers of CUDA and CUPTI")

    depends_on("c", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("protobuf-c")
    depends_on("zstd libs=shared,static")
    depends_on("sqlite@3.35:")
    depends_on("elfutils@0.180: +debuginfod")
    depends_on("binutils +libiberty", type=("build", "link"))
    depends_on("libunwind", type=("build", "run"))
    depends_on("python@3.8:", type=("build", "run"))
    depends_on("py-numpy", type="run")
    depends_on("py-scipy", type="run")
    depends_on("cuda@11.8:", when="+cuda", type="build")

    conflicts("platform=darwin")
    conflicts("target=aarch64:")

    def build(self, spec, prefix):
        environment = [f"CUDA_HOME={spec['cuda'].prefix}"] if spec.satisfies("+cuda") else []
        make("all", f"PREFIX={prefix}", *environment)

    def install(self, spec, prefix):
        make("install", f"PREFIX={prefix}")
