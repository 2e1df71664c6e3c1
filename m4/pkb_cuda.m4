# The CUDA backend: --with-cuda[=DIR] and --with-nccl[=DIR] are yes (must be there), no, a folder, or auto. It is built where nvcc, the
# CUDA runtime, cuBLAS, cuFFT and NCCL are all found.

# PKB_CUDA_MISSING(WHAT): remembers what is not there.
AC_DEFUN([PKB_CUDA_MISSING], [pkb_cuda_missing="$pkb_cuda_missing $1"])

# Sets NVCC and CUDA_DIR, the folder with include/ and lib64/ or lib/.
AC_DEFUN([PKB_FIND_NVCC], [
  AC_ARG_VAR([NVCC], [the CUDA compiler])
  pkb_cuda_path=$PATH$PATH_SEPARATOR/usr/local/cuda/bin
  AS_CASE([$with_cuda], [yes|auto], [], [pkb_cuda_path=$with_cuda/bin])
  AC_PATH_PROG([NVCC], [nvcc], [], [$pkb_cuda_path])
  AS_IF([test -z "$NVCC"], [PKB_CUDA_MISSING([nvcc])])
  AS_CASE([$with_cuda],
    [yes|auto], [AS_IF([test -n "$NVCC"], [CUDA_DIR=`readlink -f "$NVCC"`; CUDA_DIR=${CUDA_DIR%/bin/nvcc}])],
    [CUDA_DIR=$with_cuda])
])

# A header and a library of a toolkit folder: PKB_CUDA_PART(NAME, DIR, HEADER, LIBRARY, [INCLUDES], [LIBS]) sets NAME_CPPFLAGS and NAME_LIBS.
AC_DEFUN([PKB_CUDA_PART], [
  $1_CPPFLAGS=
  $1_LIBS=
  pkb_save_CPPFLAGS=$CPPFLAGS pkb_save_LDFLAGS=$LDFLAGS pkb_save_LIBS=$LIBS
  AS_IF([test -n "$2"], [
    $1_CPPFLAGS="-isystem $2/include"
    for pkb_dir in "$2/lib" "$2/lib64"; do
      # Found there, found there at run time too, unless LD_LIBRARY_PATH says otherwise.
      AS_IF([test -d "$pkb_dir"], [$1_LIBS="-L$pkb_dir -Wl,-rpath,$pkb_dir -Wl,--enable-new-dtags"])
    done
  ])
  CPPFLAGS="$CPPFLAGS $$1_CPPFLAGS $CUDA_CPPFLAGS"
  LDFLAGS="$LDFLAGS $$1_LIBS"
  LIBS="$4 $LIBS"
  AC_MSG_CHECKING([for $3 and $4])
  pkb_found=yes
  AS_IF([test -n "$2" && test ! -f "$2/include/$3"], [pkb_found=no])
  AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <$3>]], [$5])], [], [pkb_found=no])
  AC_MSG_RESULT([$pkb_found])
  AS_IF([test $pkb_found = yes], [$1_LIBS="$$1_LIBS $4"], [PKB_CUDA_MISSING([$3])])
  CPPFLAGS=$pkb_save_CPPFLAGS LDFLAGS=$pkb_save_LDFLAGS LIBS=$pkb_save_LIBS
  AC_SUBST([$1_CPPFLAGS])
  AC_SUBST([$1_LIBS])
])

# Machine code for Ampere, Hopper and Blackwell, and PTX for what comes later: "80 90 100" unless PKB_CUDA_ARCHS says otherwise.
AC_DEFUN([PKB_CUDA_FLAGS], [
  AC_ARG_VAR([PKB_CUDA_ARCHS], [compute capabilities of the GPUs to compile for; default "80 90 100"; the last one as PTX too])
  PKB_NVCC_FLAGS=
  for pkb_arch in ${PKB_CUDA_ARCHS:-80 90 100}; do
    PKB_NVCC_FLAGS="$PKB_NVCC_FLAGS -gencode arch=compute_$pkb_arch,code=sm_$pkb_arch"
  done
  PKB_NVCC_FLAGS="$PKB_NVCC_FLAGS -gencode arch=compute_$pkb_arch,code=compute_$pkb_arch"
  PKB_NVCC_FLAGS="$PKB_NVCC_FLAGS -std=c++17 -O2 -Xcompiler -fPIC,-fvisibility=hidden,-Wall,-Wextra"
  AS_IF([test "$enable_werror" = yes], [PKB_NVCC_FLAGS="$PKB_NVCC_FLAGS -Werror all-warnings -Xcompiler -Werror"])
  AC_SUBST([PKB_NVCC_FLAGS])
])

AC_DEFUN([PKB_CHECK_CUDA], [
  AC_ARG_WITH([cuda], [AS_HELP_STRING([--with-cuda@<:@=DIR@:>@], [build the CUDA backend; default: where it can be built])],
    [], [with_cuda=auto])
  AC_ARG_WITH([nccl], [AS_HELP_STRING([--with-nccl@<:@=DIR@:>@], [NCCL of the CUDA backend; default: beside CUDA])],
    [], [with_nccl=auto])
  have_cuda=no pkb_cuda_missing=
  AS_IF([test "$with_cuda" = auto && test "$enable_sanitizers" = yes], [with_cuda=no])
  AS_IF([test "$with_cuda" = auto && test "$with_nccl" = no], [with_cuda=no])
  AS_IF([test "$with_cuda" != no], [
    PKB_FIND_NVCC
    PKB_CUDA_PART([CUDA], [$CUDA_DIR], [cuda_runtime_api.h], [-lcudart], [(void)cudaGetLastError();])
    PKB_CUDA_PART([CUBLAS], [$CUDA_DIR], [cublas_v2.h], [-lcublas], [cublasHandle_t handle; (void)cublasCreate(&handle);])
    PKB_CUDA_PART([CUFFT], [$CUDA_DIR], [cufft.h], [-lcufft], [cufftHandle handle; (void)cufftCreate(&handle);])
    AS_CASE([$with_nccl], [yes|auto|no], [pkb_nccl_dir=$CUDA_DIR], [pkb_nccl_dir=$with_nccl])
    PKB_CUDA_PART([NCCL], [$pkb_nccl_dir], [nccl.h], [-lnccl], [int version; (void)ncclGetVersion(&version);])
    AS_IF([test -z "$pkb_cuda_missing"], [have_cuda=yes],
      [test "$with_cuda" != auto || { test "$with_nccl" != auto && test "$with_nccl" != no; }],
      [AC_MSG_ERROR([the CUDA backend was asked for, but these are missing:$pkb_cuda_missing])])
  ], [test "$with_nccl" != auto && test "$with_nccl" != no && test "$enable_sanitizers" != yes],
    [AC_MSG_ERROR([NCCL was asked for, but the CUDA backend was not])])
  AS_IF([test "$have_cuda" = yes], [
    PKB_CUDA_FLAGS
    pkb_backends="host cuda"
  ], [pkb_backends=host])
  AM_CONDITIONAL([HAVE_CUDA], [test "$have_cuda" = yes])
])
