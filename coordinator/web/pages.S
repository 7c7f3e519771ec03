/* pages - the inlined pages as read-only data; web.h declares them. The build passes the include
 * path on which the pages lie. */
    .section .rodata

/* One page: its bytes, a NUL, and its length as a size_t. */
.macro page name, file
    .global \name
    .type \name, %object
\name:
    .incbin "\file"
.Lend_\name:
    .size \name, .Lend_\name - \name
    .byte 0

    .balign 8
    .global \name\()_length
    .type \name\()_length, %object
    .size \name\()_length, __SIZEOF_SIZE_T__
\name\()_length:
#if __SIZEOF_SIZE_T__ == 8
    .8byte .Lend_\name - \name
#else
    .4byte .Lend_\name - \name
#endif
.endm

    page web_flame_html, flame.html
    page web_index_html, index.html

    .section .note.GNU-stack, "", %progbits
