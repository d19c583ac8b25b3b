/** What compilers for Windows expect of a C library; see `scripts/native-packages.mjs`. */
#if defined(_WIN32)

/** Says that a program uses numbers with a point. */
extern "C" int _fltused;
int _fltused = 1;

/**
 * Called before a frame of more than a page, its bytes in rax: touches each of its pages in order, since Windows makes the stack grow
 * by the page that it guards. Changes r10 and r11 only.
 */
__asm__(R"(
  .globl __chkstk
__chkstk:
  movq %rsp, %r10
  movq %rax, %r11
1:
  cmpq $4096, %r11
  jbe 2f
  subq $4096, %r10
  testb %r10b, (%r10)
  subq $4096, %r11
  jmp 1b
2:
  subq %r11, %r10
  testb %r10b, (%r10)
  ret
)");

#endif
