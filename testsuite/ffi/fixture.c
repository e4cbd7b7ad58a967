/* SPDX-License-Identifier: MIT */
/* testsuite/ffi/fixture.c: the C side of the tests of module ffi (testsuite/lua/ffi).
 *
 * Layouts: each struct below is compiled here and given to the tests as text. The tests
 * compare the module's layout with this compiler's: size, alignment, and for each member
 * the bytes that change when it is set to -1. */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- layouts ------------------------------------------------------------- */

enum color { RED, GREEN, BLUE };
struct inner { short s; char c; };

/* S(struct or union, name, attributes, members as M(name)..., { declaration }) */
#define LAYOUTS(S) \
  S(struct, plain, , M(a) M(b) M(c) M(d) M(e), { char a; int b; short c; double d; char e; }) \
  S(struct, mixed, , M(a) M(b) M(c) M(d) M(f), \
    { bool a; long b; float c; unsigned char d; long long f; }) \
  S(struct, wide, , M(a) M(b), { char a; long double b; }) \
  S(struct, bits_int, , M(a) M(b) M(c) M(d), \
    { unsigned a : 3; unsigned b : 5; unsigned c : 20; unsigned d : 7; }) \
  S(struct, bits_signed, , M(a) M(b) M(c), { int a : 1; int b : 31; int c : 2; }) \
  S(struct, bits_char, , M(a) M(b) M(c) M(d), \
    { unsigned char a : 3; unsigned char b : 6; unsigned short c : 9; unsigned char d : 1; }) \
  S(struct, bits_mixed, , M(a) M(b) M(c) M(d) M(e), \
    { char a; unsigned b : 4; short c; unsigned long d : 40; unsigned e : 9; }) \
  S(struct, bits_long, , M(a) M(b) M(c), \
    { unsigned long a : 33; unsigned long b : 31; long c : 64; }) \
  S(struct, bits_zero, , M(a) M(b) M(c), \
    { unsigned a : 5; unsigned : 0; unsigned b : 5; char : 0; unsigned c : 2; }) \
  S(struct, bits_gap, , M(a) M(b) M(c), \
    { unsigned a : 5; unsigned : 7; unsigned b : 5; unsigned char : 3; char c; }) \
  S(struct, bits_unnamed, , M(a), { char a; long : 1; }) \
  S(struct, bits_only, , M(a), { unsigned a : 1; }) \
  S(struct, bits_bool, , M(a) M(b) M(c), { bool a : 1; bool b : 1; unsigned c : 14; }) \
  S(struct, bits_enum, , M(a) M(b), { enum color a : 2; enum color b : 9; }) \
  S(struct, bits_cross, , M(a) M(b) M(c), { unsigned char a; unsigned b : 25; unsigned c : 10; }) \
  S(struct, packed, __attribute__((packed)), M(a) M(b) M(c) M(d), \
    { char a; int b; double c; short d; }) \
  S(struct, packed_bits, __attribute__((packed)), M(a) M(b) M(c) M(d), \
    { unsigned a : 3; unsigned b : 30; unsigned c : 30; char d; }) \
  S(struct, packed_long, __attribute__((packed)), M(a) M(b) M(c), \
    { char a; unsigned long b : 40; short c; }) \
  S(struct, packed_member, , M(a) M(b) M(c), { char a; int b __attribute__((packed)); int c; }) \
  S(struct, aligned, __attribute__((aligned(32))), M(a) M(b), { char a; int b; }) \
  S(struct, aligned_member, , M(a) M(b) M(c), \
    { char a; int b __attribute__((aligned(16))); char c; }) \
  S(struct, packed_aligned, __attribute__((packed, aligned(4))), M(a) M(b) M(c), \
    { char a; int b; char c; }) \
  S(struct, alignas_member, , M(a) M(b), { char a; _Alignas(16) char b; }) \
  S(struct, arrays, , M(a) M(b[1]) M(c[2]) M(d[1][2]), \
    { char a; short b[3]; int c[5]; char d[2][3]; }) \
  S(struct, nested, , M(a) M(in.s) M(in.c) M(b), { char a; struct inner in; char b; }) \
  S(struct, anonymous, , M(a) M(b) M(c) M(d) M(e), \
    { char a; struct { int b; char c; }; union { short d; double e; }; }) \
  S(union, either, , M(a) M(b) M(c), { char a; double b; short c; }) \
  S(union, either_bits, , M(a) M(b) M(c), { unsigned a : 3; unsigned long b : 40; char c; }) \
  S(union, either_packed, __attribute__((packed)), M(a) M(b), { char a; int b; }) \
  S(struct, flexible, , M(a), { int a; double rest[]; }) \
  S(struct, pointers, , M(a) M(c), { char a; void *p; char c; int (*f)(int, ...); })

#define S(kind, name, attributes, members, ...) kind name __VA_ARGS__ attributes;
LAYOUTS(S)
#undef S
#pragma pack(push, 2)
struct pragma_pack { char a; int b; unsigned c : 20; unsigned d : 20; double e; };
#pragma pack(pop)

struct layout {
  const char *type, *declaration;
  size_t size, align;
  const char *(*member)(int n, void *bytes);
};

#define M(m) if (n-- == 0) { o.m = -1; memcpy(bytes, &o, sizeof o); return #m; }
#define S(kind, name, attributes, members, ...) \
  static const char *member_of_##name(int n, void *bytes) { \
    kind name o; \
    memset(&o, 0, sizeof o); \
    members return NULL; \
  }
LAYOUTS(S)
S(struct, pragma_pack, , M(a) M(b) M(c) M(d) M(e), )
#undef S

static const struct layout layouts[] = {
#define S(kind, name, attributes, members, ...) \
  {#kind " " #name, #kind " " #name " " #__VA_ARGS__ " " #attributes ";", sizeof(kind name), \
   _Alignof(kind name), member_of_##name},
    LAYOUTS(S)
#undef S
        {"struct pragma_pack",
         "\n#pragma pack(push, 2)\nstruct pragma_pack { char a; int b; unsigned c : 20; unsigned d "
         ": 20; double e; };\n#pragma pack(pop)\n",
         sizeof(struct pragma_pack), _Alignof(struct pragma_pack), member_of_pragma_pack},
    {NULL, NULL, 0, 0, NULL}};

const struct layout *fixture_layout(int i) { return &layouts[i]; }

/* ---- calls --------------------------------------------------------------- */

struct s1 { char a; };
struct s3 { char a, b, c; };
struct s8 { int a, b; };
struct s12 { int a, b, c; };
struct s16 { long a; double b; };
struct sff { float a, b; };
struct sfff { float a, b, c; };
struct sdd { double a, b; };
struct sdddd { double a, b, c, d; };
struct sfi { float a; int b; };
struct s24 { long a, b, c; };
struct sbig { int values[40]; };
struct sbits { unsigned a : 3; unsigned b : 13; int c : 16; };
struct __attribute__((packed)) spacked { char a; int b; };
struct sarray { short v[3]; };
struct sld { long double v; };
union u8 { int i; float f; };
union u16 { double d; struct { float a, b, c; } f; };

#define ECHO(kind, name) kind name echo_##name(int before, kind name v, double after) { \
    if (before != 11 || after != 2.5) memset(&v, 0xee, sizeof v); \
    return v; \
  }
ECHO(struct, s1)
ECHO(struct, s3) ECHO(struct, s8) ECHO(struct, s12) ECHO(struct, s16) ECHO(struct, sff)
    ECHO(struct, sfff) ECHO(struct, sdd) ECHO(struct, sdddd) ECHO(struct, sfi) ECHO(struct, s24)
        ECHO(struct, sbig) ECHO(struct, sbits) ECHO(struct, spacked) ECHO(struct, sarray)
            ECHO(union, u8) ECHO(union, u16) ECHO(struct, sld)

#define SCALAR(type, name) type echo_##name(type v) { return v; }
                SCALAR(bool, bool) SCALAR(char, char) SCALAR(signed char, schar)
                    SCALAR(unsigned char, uchar) SCALAR(short, short) SCALAR(unsigned short, ushort)
                        SCALAR(int, int) SCALAR(unsigned, uint) SCALAR(long, long)
                            SCALAR(unsigned long, ulong) SCALAR(float, float) SCALAR(double, double)
                                SCALAR(long double, ldouble) SCALAR(void *, pointer)
                                    SCALAR(enum color, color)

                                        double many(char a, short b, int c, long d, float e,
                                                    double f, char g, short h, int i, long j,
                                                    float k, double l, double m, double n, double o,
                                                    double p, double q, double r, double s) {
  return a + 2 * b + 3 * c + 4.0 * (double)d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i +
         10.0 * (double)j + 11 * k + 12 * l + 13 * m + 14 * n + 15 * o + 16 * p + 17 * q + 18 * r +
         19 * s;
}

/* Writes the arguments. `kinds`: i int, l long, d double, s string, p pointer. */
int format_arguments(char *to, size_t size, const char *kinds, ...) {
  va_list arguments;
  size_t n = 0;
  va_start(arguments, kinds);
  for (; *kinds != '\0'; kinds++) {
    switch (*kinds) {
      case 'i': n += (size_t)snprintf(to + n, size - n, "%d,", va_arg(arguments, int)); break;
      case 'l': n += (size_t)snprintf(to + n, size - n, "%ld,", va_arg(arguments, long)); break;
      case 'd': n += (size_t)snprintf(to + n, size - n, "%g,", va_arg(arguments, double)); break;
      case 's':
        n += (size_t)snprintf(to + n, size - n, "%s,", va_arg(arguments, const char *));
        break;
      default:
        n += (size_t)snprintf(to + n, size - n, "%s,",
                              va_arg(arguments, void *) == NULL ? "null" : "set");
    }
  }
  va_end(arguments);
  return (int)n;
}

int set_errno(int value) {
  int old = errno;
  errno = value;
  return old;
}

int counter = 7;
const int limit = 100;
int table[4] = {1, 2, 3, 4};
const char greeting[] = "hello";
struct s8 pair = {3, 4};
const char *text = "text";

/* ---- callbacks ----------------------------------------------------------- */

int call_int(int (*f)(int), int v) { return f(v); }
double call_mixed(double (*f)(char, float, long, double, const char *), double v) {
  return f('x', 1.5f, 1L << 40, v, "str");
}
struct s16 call_struct(struct s16 (*f)(struct s16, struct s3), struct s16 v) {
  struct s3 small = {1, 2, 3};
  return f(v, small);
}
signed char call_small(signed char (*f)(unsigned char), unsigned char v) { return f(v); }
bool call_bool(bool (*f)(bool), bool v) { return f(v); }
int call_many_times(int (*f)(int), int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) sum += f(i);
  return sum;
}

static int (*kept)(int);
void keep(int (*f)(int)) { kept = f; }
int call_kept(int v) { return kept(v); }
int (*pass_through(int (*f)(int)))(int) { return f; }

static void *on_thread(void *argument) {
  *(int *)argument = kept(*(int *)argument);
  return NULL;
}

/* Calls the kept function in another thread, and waits for the thread. */
int call_kept_on_thread(int v) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, on_thread, &v) != 0) return -1;
  pthread_join(thread, NULL);
  return v;
}

/* Takes a while and returns nothing. A C function for Lua that no module has. */
int fixture_pause(void *state) {
  const struct timespec while_ = {.tv_nsec = 20000000};
  (void)state;
  nanosleep(&while_, NULL);
  return 0;
}

/* ---- arguments behind words of padding ------------------------------------ */

struct padded { float x __attribute__((aligned(16))); float y; };
struct padded_int { int n __attribute__((aligned(16))); };
struct nothing { };

double take_padded(struct padded a, int i, struct nothing none, struct padded_int b, double d,
                   struct padded c) {
  (void)none;
  return a.x + 10 * a.y + 100 * i + 1000 * b.n + 1e4 * d + 1e5 * c.x + 1e6 * c.y;
}

struct padded echo_padded(struct padded v) { return v; }
struct nothing echo_nothing(struct nothing v) { return v; }

struct padded call_with_padded(struct padded (*f)(struct padded, int, struct nothing,
                                                  struct padded_int, double, struct padded)) {
  return f((struct padded){1, 2}, 3, (struct nothing){}, (struct padded_int){4}, 5,
           (struct padded){6, 7});
}

/* ---- structs and their registers ------------------------------------------ */

#ifdef __clang__
const bool fixture_is_gcc = false;
#else
const bool fixture_is_gcc = true;
#endif

struct half_floating { long n; double x; };

double take_last(double first, long a, long b, long c, long d, long e, struct half_floating last) {
  return first + 10 * (a + b + c + d + e) + 100 * last.n + 1000 * last.x;
}

double call_with_last(double (*f)(double, long, long, long, long, long, struct half_floating)) {
  return f(1, 0, 0, 1, 0, 1, (struct half_floating){3, 4});
}

union hidden { long pair[2]; union { long n; long double x; } inner; };

long take_hidden(union hidden u, long n) { return u.pair[0] + 10 * u.pair[1] + 100 * n; }

struct __attribute__((packed)) five_bytes { int n; char c; };
struct two_fives { struct five_bytes of[2]; };

long take_two_fives(struct two_fives t, long n) {
  return t.of[0].n + 10 * t.of[0].c + 100 * t.of[1].n + 1000 * t.of[1].c + 10000 * n;
}

struct unnamed { int : 7; } __attribute__((aligned(32)));
long fixture_noted;

struct unnamed return_unnamed(long n) {
  fixture_noted = n;
  return (struct unnamed){};
}

void call_for_unnamed(struct unnamed (*f)(long)) { f(8); }
