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
