dnl SPDX-License-Identifier: MIT
dnl Macros of this project's configure.ac.

dnl SAROS_MISSING(DEBIAN-PACKAGE, CONSEQUENCE)
dnl Notes an optional thing that is missing; the summary lists them.
AC_DEFUN([SAROS_MISSING],
[AC_MSG_WARN([missing (Debian package: $1): $2])
SAROS_MISSING_LIST="$SAROS_MISSING_LIST
  apt-get install $1   ($2)"])

dnl SAROS_FLAG(NAME, WHAT, CPP-FLAGS, VARIABLE)
dnl A switch --enable-NAME, off by default, that adds CPP-FLAGS to VARIABLE: OPTION_CPPFLAGS for
dnl what every file sees, GUEST_CPPFLAGS for all but libeventring and its tools.
AC_DEFUN([SAROS_FLAG],
[AC_ARG_ENABLE([$1], [AS_HELP_STRING([--enable-$1], [build with $2])], [], [enable_$1=no])
AS_IF([test "$enable_$1" = yes], [$4="$$4 $3"])])

dnl SAROS_CHECK_LINK(FLAGS, IF-YES, IF-NO)
dnl Whether a program links with FLAGS.
AC_DEFUN([SAROS_CHECK_LINK],
[AC_MSG_CHECKING([whether $CC links with $1])
saros_saved_CFLAGS=$CFLAGS
CFLAGS="$CFLAGS $1"
AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])],
  [AC_MSG_RESULT([yes]); saros_links=yes], [AC_MSG_RESULT([no]); saros_links=no])
CFLAGS=$saros_saved_CFLAGS
AS_IF([test $saros_links = yes], [$2], [$3])])

dnl SAROS_VM_FLAG(FLAG)
dnl Adds FLAG to VM_OPT_CFLAGS where the compiler has it.
AC_DEFUN([SAROS_VM_FLAG],
[AC_MSG_CHECKING([whether $CC has $1])
saros_saved_CFLAGS=$CFLAGS
CFLAGS="$CFLAGS -Werror $1"
AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])],
  [AC_MSG_RESULT([yes]); VM_OPT_CFLAGS="$VM_OPT_CFLAGS $1"], [AC_MSG_RESULT([no])])
CFLAGS=$saros_saved_CFLAGS])

dnl SAROS_CHECK_USE(VARIABLE, HEADERS, FUNCTION, RESULT)
dnl Sets the shell variable RESULT to whether a program that uses the library compiles and links:
dnl pkg-config knows the libraries of the system's compiler, which another one, such as musl-gcc,
dnl cannot use.
AC_DEFUN([SAROS_CHECK_USE],
[AC_MSG_CHECKING([whether $CC can use $3])
saros_saved_CFLAGS=$CFLAGS
saros_saved_LIBS=$LIBS
CFLAGS="$CFLAGS $$1_CFLAGS"
LIBS="$$1_LIBS $LIBS"
AC_LINK_IFELSE([AC_LANG_PROGRAM(
[m4_foreach_w([saros_header], [$2], [@%:@include <saros_header>
])], [[return (void *)$3 == 0;]])], [$4=yes], [$4=no])
AC_MSG_RESULT([$$4])
CFLAGS=$saros_saved_CFLAGS
LIBS=$saros_saved_LIBS
AS_IF([test "$$4" = no], [$1_CFLAGS=; $1_LIBS=])])

dnl SAROS_LIBRARY(NAME, VARIABLE, MODULE, HEADER, FUNCTION, DEBIAN-PACKAGE, WHAT, CONSEQUENCE
dnl               [, DEFINE])
dnl An optional library: have_NAME is yes or no, DEFINE (HAVE_VARIABLE) is defined if it is there,
dnl --with-NAME makes it an error when it is not, and --without-NAME leaves it out.
AC_DEFUN([SAROS_LIBRARY],
[have_$1=no
AS_IF([test "$with_$1" != no && test -n "$PKG_CONFIG"],
  [PKG_CHECK_MODULES([$2], [$3],
     [SAROS_CHECK_USE([$2], [stddef.h stdio.h $4], [$5], [have_$1])], [have_$1=no])])
AS_IF([test "$have_$1" = yes],
  [AC_DEFINE(m4_default([$9], [HAVE_$2]), [1], [$7])],
  [AS_IF([test "$with_$1" = yes],
     [AC_MSG_ERROR([$1 is missing (Debian package: $6)])])
   AS_IF([test "$with_$1" = check],
     [SAROS_MISSING([$6], [$8])])])])
