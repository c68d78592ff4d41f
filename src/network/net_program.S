    .section .rodata
    .global patchbay_net_begin
    .global patchbay_net_end
patchbay_net_begin:
    .incbin PATCHBAY_NET_FILE
patchbay_net_end:
    .section .note.GNU-stack, "", %progbits
